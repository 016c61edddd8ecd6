/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A Java virtual machine (OpenJDK) with -XX:+UseLargePages: Elasticsearch, Cassandra and others. The heap, the code
 * cache and the collector's own tables, each a separate mapping. Without enough pages most of them are mapped with
 * small ones; ZGC exits.
 *
 * Sources: HotSpot, by the functions named below, and what OpenJDK 8, 11, 17, 21, 25 and 26 map on x86-64
 * (tests/sizes). For a version between two of these the rule of the two that gives more applies, unless the change that
 * divides them is known; the same holds if a version's update is not known. */

#include "engines/parameters.h"

enum {
        SERVER_VERSION,
        XMX,
        GC,
        G1_HEAP_REGION_SIZE,
        SHENANDOAH_REGION_SIZE,
        GC_CARD_SIZE_IN_BYTES,
        MARK_STACK_SIZE,
        OBJECT_ALIGNMENT_IN_BYTES,
        USE_COMPRESSED_OOPS,
        HEAP_BASE_MIN_ADDRESS,
        RESERVED_CODE_CACHE_SIZE,
        NON_NMETHOD_CODE_HEAP_SIZE,
        PROFILED_CODE_HEAP_SIZE,
        NON_PROFILED_CODE_HEAP_SIZE,
        SEGMENTED_CODE_CACHE,
        TIERED_COMPILATION,
        TIERED_STOP_AT_LEVEL,
        COMPILATION_MODE,
        XINT,
        LARGE_PAGE_SIZE_IN_BYTES,
        USE_LARGE_PAGES,
        USE_LARGE_PAGES_IN_METASPACE,
        USE_TRANSPARENT_HUGE_PAGES,
};

enum { GC_G1, GC_PARALLEL, GC_ZGC, GC_SERIAL, GC_SHENANDOAH, GC_CMS };

enum { MODE_DEFAULT, MODE_QUICK_ONLY, MODE_HIGH_ONLY };

enum { OLDEST = 8, NEWEST = 26 };

/* ---- settings ---- */

static int parse_java_size(const char *value, uint64_t *ret_bytes) {
        return parse_suffixed_bytes(value, "KkMmGgTt", ret_bytes);
}

static const char expects_size[] = "write a size such as 512m or 31g (k, m, g, t; none: bytes)";
static const char expects_switch[] = "write true or false";

static const Parameter parameters[] = {
        [SERVER_VERSION] = PARAMETER_SERVER_VERSION,
        /* By default a quarter of the host's memory. */
        [XMX] = {"Xmx", parse_java_size, expects_size, .minimum = 2 * MIB, .is_required = true},
        [GC] = {"gc", NULL, "write g1, parallel, zgc, serial, shenandoah or cms",
                PARAMETER_WORDS("g1", "parallel", "zgc", "serial", "shenandoah", "cms")},
        [G1_HEAP_REGION_SIZE] = {"G1HeapRegionSize", parse_java_size, expects_size},
        [SHENANDOAH_REGION_SIZE] = {"ShenandoahRegionSize", parse_java_size, expects_size},
        [GC_CARD_SIZE_IN_BYTES] = {"GCCardSizeInBytes", parse_u64, "write 128, 256, 512 or 1024",
                                   .initial = 512, .minimum = 128, .maximum = 1024,
                                   .is_power = true},
        /* Usually 4M; more with 40 concurrent threads of the collector, as on a host with 256 CPUs. */
        [MARK_STACK_SIZE] = {"MarkStackSize", parse_java_size, "write a number such as 4m",
                             .initial = 5 * MIB},
        [OBJECT_ALIGNMENT_IN_BYTES] = {"ObjectAlignmentInBytes", parse_u64,
                                       "write a power of two from 8 to 256", .initial = 8,
                                       .minimum = 8, .maximum = 256, .is_power = true},
        [USE_COMPRESSED_OOPS] = {"UseCompressedOops", parse_switch, expects_switch, .initial = 1},
        [HEAP_BASE_MIN_ADDRESS] = {"HeapBaseMinAddress", parse_java_size, expects_size,
                                   .initial = 2 * GIB},
        [RESERVED_CODE_CACHE_SIZE] = {"ReservedCodeCacheSize", parse_java_size, expects_size,
                                      .minimum = 2 * MIB},
        [NON_NMETHOD_CODE_HEAP_SIZE] = {"NonNMethodCodeHeapSize", parse_java_size, expects_size},
        [PROFILED_CODE_HEAP_SIZE] = {"ProfiledCodeHeapSize", parse_java_size, expects_size},
        [NON_PROFILED_CODE_HEAP_SIZE] = {"NonProfiledCodeHeapSize", parse_java_size, expects_size},
        [SEGMENTED_CODE_CACHE] = {"SegmentedCodeCache", parse_switch, expects_switch, .initial = 1},
        [TIERED_COMPILATION] = {"TieredCompilation", parse_switch, expects_switch, .initial = 1},
        [TIERED_STOP_AT_LEVEL] = {"TieredStopAtLevel", parse_u64, "write a number from 0 to 4",
                                  .initial = 4},
        [COMPILATION_MODE] = {"CompilationMode", NULL,
                              "write default, quick-only, high-only or high-only-quick-internal",
                              PARAMETER_WORDS("default", "quick-only", "high-only",
                                              "high-only-quick-internal")},
        [XINT] = {"Xint", parse_switch, expects_switch},
        [LARGE_PAGE_SIZE_IN_BYTES] = {"LargePageSizeInBytes", parse_java_size, expects_size},
        [USE_LARGE_PAGES] = {"UseLargePages", parse_switch, "write true", .initial = 1},
        [USE_LARGE_PAGES_IN_METASPACE] = {"UseLargePagesInMetaspace", parse_switch, "write false"},
        [USE_TRANSPARENT_HUGE_PAGES] = {"UseTransparentHugePages", parse_switch, "write false"},
        /* The heap grows to Xmx, and Xmn is a part of it. */
        {"Xms", parse_java_size, expects_size},
        {"Xmn", parse_java_size, expects_size},
};

static const ParameterTable table = {parameters, ARRAY_LEN(parameters)};

/* ZPhysicalMemoryBacking asks for pages of its granule's size, and works with no others. */
static const char *check(Arena *arena, const ParameterValue *v, uint64_t page_size_bytes) {
        uint64_t largest_page_bytes = v[LARGE_PAGE_SIZE_IN_BYTES].number;
        const char *page = format_page_size(arena, page_size_bytes);

        if (largest_page_bytes != 0 && largest_page_bytes != page_size_bytes)
                return setting_refuse(arena, v[LARGE_PAGE_SIZE_IN_BYTES].setting,
                                      "Java would take pages of %s, but these are pages of %s; "
                                      "make them the same",
                                      format_page_size(arena, largest_page_bytes), page);
        if (v[GC].setting && v[GC].number == GC_ZGC && page_size_bytes != 2 * MIB)
                return setting_refuse(arena, v[GC].setting,
                                      "ZGC takes pages of 2M, but these are pages of %s; choose "
                                      "pages of 2M",
                                      page);
        if (v[XMX].number < page_size_bytes)
                return setting_refuse(
                        arena, v[XMX].setting,
                        "%s is less than one page of %s, so Java would take none; choose "
                        "smaller pages",
                        format_size(arena, v[XMX].number), page);
        if (v[USE_LARGE_PAGES].number == 0)
                return setting_refuse(arena, v[USE_LARGE_PAGES].setting,
                                      "without it Java takes no reserved huge pages; write true");
        if (v[USE_TRANSPARENT_HUGE_PAGES].number != 0)
                return setting_refuse(arena, v[USE_TRANSPARENT_HUGE_PAGES].setting,
                                      "with it Java takes no reserved huge pages; write false");
        if (v[USE_LARGE_PAGES_IN_METASPACE].number != 0)
                return setting_refuse(
                        arena, v[USE_LARGE_PAGES_IN_METASPACE].setting,
                        "with it Java takes as many as its classes need; write false");
        return NULL;
}

/* ---- mappings ---- */

/* Which part of a mapping takes huge pages. */
typedef enum Fit {
        FIT_ROUNDED, /* os::page_size_for_region_unaligned(): rounded up */
        FIT_ALIGNED, /* os::page_size_for_region_aligned(): only a multiple of the page */
        FIT_WITHIN,  /* ReservedSpace(size): the whole pages in it; small pages at both ends */
} Fit;

static void add(Arena *arena, Sizing *sizing, const char *what, uint64_t bytes, Fit fit,
                uint64_t min_pages) {
        uint64_t pages = bytes / sizing->page_size_bytes;

        if (fit == FIT_ROUNDED)
                sizing_add_mapping(arena, sizing, what, bytes, min_pages);
        else if (fit == FIT_ALIGNED && bytes % sizing->page_size_bytes != 0)
                sizing_add(arena, sizing, what, "small pages: not a multiple of this size", 0);
        else if (fit == FIT_ALIGNED)
                sizing_add_mapping(arena, sizing, what, bytes, min_pages);
        else if (pages > 0)
                sizing_add(arena, sizing, what, "the whole pages in it",
                           pages * sizing->page_size_bytes);
}

/* The inputs for a virtual machine of one version. */
typedef struct Machine {
        const ParameterValue *v;
        uint64_t major;
        uint64_t gc;
        uint64_t page_bytes;
        uint64_t region_bytes; /* the heap is a multiple of it */
        uint64_t heap_bytes;
} Machine;

static uint64_t power_of_two_to(uint64_t n) {
        uint64_t power = 1;

        while (power <= n / 2)
                power *= 2;
        return power;
}

/* HeapRegion::setup_heap_region_size(): about 2048 regions of 1M to 32M; as set, up to 512M. 17 rounds them up to a
 * power of two, 11 down; in 11 the initial heap counts as well, and this is the result with Xms=Xmx.
 * ShenandoahHeapRegion::setup_sizes() does the same, but rounds up to whole pages before it rounds down. Before G1
 * became the default, the default of a server was the parallel collector. */
static Machine machine_of(const ParameterValue *v, uint64_t major, uint64_t page_bytes) {
        Machine m = {
                .v = v,
                .major = major,
                .gc = !v[GC].setting && major < 9 ? GC_PARALLEL : v[GC].number,
                .page_bytes = page_bytes,
                .region_bytes = page_bytes,
        };
        bool is_g1 = m.gc == GC_G1;
        uint64_t set = v[is_g1 ? G1_HEAP_REGION_SIZE : SHENANDOAH_REGION_SIZE].number;
        uint64_t most = is_g1 && set > 0 && major >= 18 ? 512 * MIB : 32 * MIB;
        uint64_t bytes =
                MIN(MAX(set > 0 ? set : v[XMX].number / 2048, is_g1 ? (uint64_t) MIB : UINT64_C(1)),
                    most);

        if (is_g1) {
                uint64_t power = power_of_two_to(bytes);

                m.region_bytes = MAX(power < bytes && major >= 12 ? 2 * power : power, page_bytes);
        } else if (m.gc == GC_SHENANDOAH) {
                m.region_bytes = power_of_two_to(round_up_saturated(bytes, page_bytes));
        }
        m.heap_bytes = round_up_saturated(v[XMX].number, m.region_bytes);
        return m;
}

/* ---- the heap ---- */

/* ReservedHeapSpace::initialize_compressed_heap(): a heap of compressed oops that does not fit below 32G (with objects
 * of 8 bytes) begins with protected memory of the size of its alignment. */
static void add_heap(Arena *arena, Sizing *sizing, const Machine *m) {
        uint64_t limit = 4 * GIB * m->v[OBJECT_ALIGNMENT_IN_BYTES].number;

        sizing->mapping_bytes = m->heap_bytes;
        sizing_add_mapping(arena, sizing, "Java heap", m->heap_bytes, 1);
        if (m->gc != GC_ZGC && m->v[USE_COMPRESSED_OOPS].number != 0 && m->heap_bytes < limit &&
            add_saturated(m->heap_bytes, m->v[HEAP_BASE_MIN_ADDRESS].number) > limit)
                sizing_add_positive(arena, sizing, "protected before the heap",
                                    "for compressed oops near their limit", m->region_bytes);
}

/* ---- the code cache ---- */

/* codeCache.cpp: min_pages of CodeCache::page_size(). */
enum { CODE_CACHE_MIN_PAGES = 8, CODE_HEAPS = 3 };

/* CompilerConfig::ergo_initialize() and set_tiered_flags(): five times the size with all compilers.
 * CodeCache::initialize_heaps(): code heaps with a set size enlarge the cache; all three together are its size. */
static uint64_t code_cache_bytes(const Machine *m) {
        static const size_t heaps[CODE_HEAPS] = {
                NON_NMETHOD_CODE_HEAP_SIZE, PROFILED_CODE_HEAP_SIZE, NON_PROFILED_CODE_HEAP_SIZE};
        const ParameterValue *v = m->v;
        bool is_interpreted = m->major >= 11 && v[XINT].number != 0;
        bool has_one_compiler = m->major >= 17 && (v[TIERED_STOP_AT_LEVEL].number < 4 ||
                                                   v[COMPILATION_MODE].number == MODE_QUICK_ONLY ||
                                                   v[COMPILATION_MODE].number == MODE_HIGH_ONLY);
        uint64_t sum = 0,
                 usual = v[TIERED_COMPILATION].number == 0 || is_interpreted || has_one_compiler
                                 ? 48 * MIB
                                 : 240 * MIB;
        size_t n = 0;

        if (v[RESERVED_CODE_CACHE_SIZE].setting)
                return v[RESERVED_CODE_CACHE_SIZE].number;
        for (size_t i = 0; i < CODE_HEAPS; i++)
                if (v[heaps[i]].setting) {
                        sum = add_saturated(sum, v[heaps[i]].number);
                        n++;
                }
        if (n == CODE_HEAPS)
                return sum;
        return n > 0 ? MAX(usual, add_saturated(sum, 16 * MIB)) : usual;
}

#define CODE_CACHE_ROUNDED_SINCE VERSION(17, 0, 10)

/* From 11 on the cache must be a multiple of the page, until CodeCache::reserve_heap_memory() was given the page size
 * that CodeCache::initialize_heaps() had found (JDK-8304954: 17.0.10, and 21.0.1). From 25 on its three heaps are each
 * rounded up, unless the cache's size is set; the amount depends on the number of CPUs. */
static void add_code_cache(Arena *arena, Sizing *sizing, const Machine *m) {
        uint64_t bytes = code_cache_bytes(m), before = sizing->bytes;
        bool is_aligned = m->major >= 11 && m->major <= 17 &&
                          (m->major < 17 ||
                           !version_may_follow(parameters_version(m->v), CODE_CACHE_ROUNDED_SINCE));

        add(arena, sizing, "code cache", bytes, is_aligned ? FIT_ALIGNED : FIT_ROUNDED,
            CODE_CACHE_MIN_PAGES);
        if (sizing->bytes > before && m->major >= 25 && m->v[SEGMENTED_CODE_CACHE].number != 0 &&
            !m->v[RESERVED_CODE_CACHE_SIZE].setting)
                sizing_add(arena, sizing, "code heaps", "each rounded up to whole pages",
                           mul_saturated(CODE_HEAPS - 1, m->page_bytes));
        /* CodeHeap::reserve(): a byte for each segment of 64 or 128. */
        add(arena, sizing, "segment map of the code cache", bytes / (m->major <= 10 ? 64 : 128),
            FIT_WITHIN, 1);
}

/* ---- the collector's tables ---- */

/* The part of the heap that one entry of a table covers. */
typedef enum Unit {
        UNIT_OBJECTS, /* eight possible objects of the heap: one bit for each */
        UNIT_WORDS,   /* 64 bytes: one bit for each word, whatever the objects' alignment */
        UNIT_CARD,
        UNIT_CARDS,           /* eight cards of 512 bytes: one bit for each */
        UNIT_BLOCK,           /* ParallelCompactData: 128 words */
        UNIT_PARALLEL_REGION, /* ParallelCompactData: 64K words */
        UNIT_REGION,
} Unit;

typedef struct CollectorTable {
        uint8_t gc;
        uint8_t since, until; /* versions; 0: no limit */
        const char *what;
        Unit unit;
        uint16_t entry_bytes;
        Fit fit;
        uint8_t min_pages;
} CollectorTable;

/* ZGC's tables are in small pages, as are the card tables of Serial and Parallel. G1CollectedHeap::initialize(): one
 * bitmap from 20 on (JDK-8210708), no card counts from 21 on (JDK-8225409), a second card table in 26. The fourth table
 * of 8 is known from measurements only. Block offset tables and CMS' bitmap cover the old generation, for which the
 * whole heap is assumed. Shenandoah's region table and bitmaps are rounded up, however small. */
static const CollectorTable collector_tables[] = {
        {GC_G1, 0, 0, "G1 mark bitmap", UNIT_OBJECTS, 1, FIT_ROUNDED, 1},
        {GC_G1, 0, 19, "G1 mark bitmap, the second", UNIT_OBJECTS, 1, FIT_ROUNDED, 1},
        {GC_G1, 0, 0, "G1 block offset table", UNIT_CARD, 1, FIT_ROUNDED, 1},
        {GC_G1, 0, 0, "G1 card table", UNIT_CARD, 1, FIT_ROUNDED, 1},
        {GC_G1, 26, 0, "G1 refinement card table", UNIT_CARD, 1, FIT_ROUNDED, 1},
        {GC_G1, 0, 20, "G1 card counts", UNIT_CARD, 1, FIT_ROUNDED, 1},
        {GC_G1, 0, 10, "G1 another of that size", UNIT_CARD, 1, FIT_ROUNDED, 1},
        {GC_PARALLEL, 0, 24, "Parallel mark bitmaps", UNIT_OBJECTS, 2, FIT_ALIGNED, 10},
        {GC_PARALLEL, 25, 0, "Parallel mark bitmap", UNIT_OBJECTS, 1, FIT_ALIGNED, 10},
        {GC_PARALLEL, 0, 24, "Parallel block table", UNIT_BLOCK, 2, FIT_ALIGNED, 10},
        {GC_PARALLEL, 0, 0, "Parallel region table", UNIT_PARALLEL_REGION, 40, FIT_ALIGNED, 10},
        {GC_PARALLEL, 0, 25, "block offset table", UNIT_CARD, 1, FIT_WITHIN, 1},
        {GC_SERIAL, 0, 0, "block offset table", UNIT_CARD, 1, FIT_WITHIN, 1},
        {GC_SHENANDOAH, 0, 11, "Shenandoah mark bitmap", UNIT_OBJECTS, 1, FIT_ROUNDED, 0},
        {GC_SHENANDOAH, 0, 11, "Shenandoah auxiliary bitmap", UNIT_OBJECTS, 1, FIT_ROUNDED, 0},
        {GC_SHENANDOAH, 12, 0, "Shenandoah mark bitmap", UNIT_OBJECTS, 2, FIT_ROUNDED, 0},
        {GC_SHENANDOAH, 12, 0, "Shenandoah auxiliary bitmap", UNIT_OBJECTS, 2, FIT_ROUNDED, 0},
        {GC_SHENANDOAH, 0, 21, "Shenandoah region table", UNIT_REGION, 128, FIT_ROUNDED, 0},
        {GC_SHENANDOAH, 22, 0, "Shenandoah region table", UNIT_REGION, 320, FIT_ROUNDED, 0},
        {GC_CMS, 0, 0, "CMS mark bitmap", UNIT_WORDS, 1, FIT_WITHIN, 1},
        {GC_CMS, 0, 0, "CMS table of modified cards", UNIT_CARDS, 1, FIT_WITHIN, 1},
        {GC_CMS, 0, 0, "CMS block offset table", UNIT_CARD, 1, FIT_WITHIN, 1},
};

static void add_tables(Arena *arena, Sizing *sizing, const Machine *m) {
        const uint64_t unit_bytes[] = {
                [UNIT_OBJECTS] = 8 * m->v[OBJECT_ALIGNMENT_IN_BYTES].number,
                [UNIT_WORDS] = 64,
                [UNIT_CARD] = m->v[GC_CARD_SIZE_IN_BYTES].number,
                [UNIT_CARDS] = 4 * KIB,
                [UNIT_BLOCK] = 1 * KIB,
                [UNIT_PARALLEL_REGION] = 512 * KIB,
                [UNIT_REGION] = m->region_bytes,
        };

        ARRAY_FOREACH(row, collector_tables, ARRAY_LEN(collector_tables)) {
                uint64_t entries = div_round_up(m->heap_bytes, unit_bytes[row->unit]);

                if (row->gc == m->gc && m->major >= row->since &&
                    (row->until == 0 || m->major <= row->until))
                        add(arena, sizing, row->what, mul_saturated(entries, row->entry_bytes),
                            row->fit, row->min_pages);
        }
        /* CMMarkStack::allocate(), CMSMarkStack::allocate(): 8 bytes for each entry. */
        if (m->gc == GC_CMS || (m->gc == GC_G1 && m->major <= 10))
                add(arena, sizing, "mark stack", mul_saturated(m->v[MARK_STACK_SIZE].number, 8),
                    FIT_WITHIN, 1);
}

/* ---- all of it ---- */

/* 8 calls itself 1.8. Returns 0 if the version is not known. */
static uint64_t major_of(const ParameterValue *v) {
        uint64_t major = v[SERVER_VERSION].number;

        return major == 0 ? 0 : MIN(MAX(major, (uint64_t) OLDEST), (uint64_t) NEWEST);
}

static const char *caveat(Arena *arena, const ParameterValue *v) {
        uint64_t newest = NEWEST;

        return arena_printf(
                arena,
                v[SERVER_VERSION].number > newest
                        ? "an estimate by the rule of OpenJDK %" PRIu64
                        : "an upper bound, measured with OpenJDK 8 to %" PRIu64
                          " on x86-64: at most 2 %% and 8 pages more if the version is known",
                newest);
}

static const char *add_jvm(Arena *arena, const Settings *settings UNUSED, const ParameterValue *v,
                           Sizing *sizing) {
        uint64_t page_size_bytes = sizing->page_size_bytes, known = major_of(v);
        const char *wrong = check(arena, v, page_size_bytes);

        if (wrong)
                return wrong;
        /* If the version is not known, that of the version that takes most. */
        for (uint64_t major = known > 0 ? known : OLDEST; major <= (known > 0 ? known : NEWEST);
             major++) {
                Sizing each = {.page_size_bytes = page_size_bytes};
                Machine machine = machine_of(v, major, page_size_bytes);

                add_heap(arena, &each, &machine);
                add_code_cache(arena, &each, &machine);
                add_tables(arena, &each, &machine);
                if (each.bytes > sizing->bytes)
                        *sizing = each;
        }
        sizing->caveat = caveat(arena, v);
        return NULL;
}

const EngineFormula formula_jvm = {add_jvm, &table};
