/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A Java virtual machine (OpenJDK) with -XX:+UseLargePages: Elasticsearch, Cassandra and others.
 * The heap, the code cache and the collector's own tables, each mapped by itself.
 *
 * Source: HotSpot's os::page_size_for_region_aligned/unaligned() and their callers, which say from
 * how many pages on a region takes them; G1, Parallel and ZGC checked against OpenJDK 17 with a heap
 * of 512m, Serial and Shenandoah against nothing. Without enough pages G1 goes on with small ones,
 * ZGC ends. */

#include "engines/parameters.h"

enum {
        SERVER_VERSION,
        XMX,
        GC,
        RESERVED_CODE_CACHE_SIZE,
        LARGE_PAGE_SIZE_IN_BYTES,
        USE_LARGE_PAGES,
        USE_TRANSPARENT_HUGE_PAGES,
        SIZED_PARAMETERS,
};

/* codeCache.cpp: min_pages for an incremental commit; parMarkBitMap.cpp, psParallelCompact.cpp. */
enum { CODE_CACHE_MIN_PAGES = 8, PARALLEL_TABLE_MIN_PAGES = 10 };

enum { GC_G1, GC_PARALLEL, GC_ZGC, GC_SERIAL, GC_SHENANDOAH };

static int parse_java_size(const char *value, uint64_t *ret_bytes) {
        return parse_suffixed_bytes(value, "KkMmGgTt", ret_bytes);
}

static int parse_gc(const char *value, uint64_t *ret) {
        static const char *const words[] = {"g1", "parallel", "zgc", "serial", "shenandoah"};

        return parse_word(value, words, ARRAY_LEN(words), ret);
}

static const char expects_size[] = "write a size such as 512m or 31g (k, m, g, t; none: bytes)";
static const char small_pages[] = "mapped with small pages";

static const Parameter parameters[] = {
        [SERVER_VERSION] = PARAMETER_SERVER_VERSION,
        /* By default a quarter of the host's memory. */
        [XMX] = {"Xmx", parse_java_size, expects_size, .minimum = 2 * MIB, .is_required = true},
        [GC] = {"gc", parse_gc, "write g1, parallel, zgc, serial or shenandoah", .initial = GC_G1},
        [RESERVED_CODE_CACHE_SIZE] = {"ReservedCodeCacheSize", parse_java_size, expects_size,
                                      .initial = 240 * MIB, .minimum = 2 * MIB},
        [LARGE_PAGE_SIZE_IN_BYTES] = {"LargePageSizeInBytes", parse_java_size, expects_size},
        [USE_LARGE_PAGES] = {"UseLargePages", parse_switch, "write true", .initial = 1},
        [USE_TRANSPARENT_HUGE_PAGES] = {"UseTransparentHugePages", parse_switch, "write false"},
        {.name = "Xms", .takes_nothing = "the heap takes its pages for Xmx at the start"},
        {.name = "AlwaysPreTouch", .takes_nothing = "it touches what is mapped anyway"},
        {.name = "MaxMetaspaceSize", .takes_nothing = small_pages},
        {.name = "MaxDirectMemorySize", .takes_nothing = small_pages},
        {.name = "Xss", .takes_nothing = small_pages},
};

static const ParameterTable table = {&engine_jvm, parameters, ARRAY_LEN(parameters)};

static const char *check(Arena *arena, const ParameterValue *v, uint64_t page_size_bytes) {
        uint64_t largest_page_bytes = v[LARGE_PAGE_SIZE_IN_BYTES].number;

        if (v[USE_LARGE_PAGES].number == 0)
                return setting_refuse(arena, v[USE_LARGE_PAGES].setting,
                                      "without it Java takes no reserved huge pages; write true");
        if (v[USE_TRANSPARENT_HUGE_PAGES].number != 0)
                return setting_refuse(arena, v[USE_TRANSPARENT_HUGE_PAGES].setting,
                                      "with it Java takes no reserved huge pages; write false");
        if (largest_page_bytes != 0 && largest_page_bytes != page_size_bytes)
                return setting_refuse(arena, v[LARGE_PAGE_SIZE_IN_BYTES].setting,
                                      "Java would take pages of %s, but these are pages of %s; "
                                      "make them the same",
                                      format_page_size(arena, largest_page_bytes),
                                      format_page_size(arena, page_size_bytes));
        if (v[XMX].number < page_size_bytes)
                return setting_refuse(arena, v[XMX].setting,
                                      "%s is less than one page of %s, so that Java would take "
                                      "none; choose smaller pages",
                                      format_size(arena, v[XMX].number),
                                      format_page_size(arena, page_size_bytes));
        return NULL;
}

/* g1HeapRegion: about 2048 regions, a power of two of 1M to 32M; the heap is a multiple of it. */
static uint64_t heap_bytes(const ParameterValue *v) {
        uint64_t region_bytes = MIB;

        if (v[GC].number != GC_G1)
                return v[XMX].number;
        while (region_bytes < 32 * MIB && region_bytes < v[XMX].number / 2048)
                region_bytes *= 2;
        return round_up_saturated(v[XMX].number, region_bytes);
}

typedef struct CollectorTable {
        uint64_t gc;
        const char *what;
        uint64_t heap_bytes_per_byte; /* one byte of the table is for so much heap */
        uint64_t min_pages;
} CollectorTable;

/* ZGC's tables are in small pages. G1 has the second bitmap up to JDK 19 (JDK-8210708), the card
 * counts up to 20; they are allowed for always. Shenandoah's bitmaps are half as large in JDK 11. */
static const CollectorTable collector_tables[] = {
        {GC_G1, "G1 mark bitmap", 64, 1},
        {GC_G1, "G1 mark bitmap, the second", 64, 1},
        {GC_G1, "G1 card table", 512, 1},
        {GC_G1, "G1 block offset table", 512, 1},
        {GC_G1, "G1 card counts", 512, 1},
        {GC_PARALLEL, "Parallel mark bitmaps", 32, PARALLEL_TABLE_MIN_PAGES},
        {GC_PARALLEL, "Parallel block table", 512, PARALLEL_TABLE_MIN_PAGES},
        {GC_PARALLEL, "Parallel region table", 8192, PARALLEL_TABLE_MIN_PAGES},
        {GC_PARALLEL, "card table", 512, 1},
        {GC_SERIAL, "card table", 512, 1},
        {GC_SERIAL, "block offset table", 512, 1},
        {GC_SHENANDOAH, "Shenandoah mark bitmap", 32, 1},
        {GC_SHENANDOAH, "Shenandoah auxiliary bitmap", 32, 1},
};

static void add_collector_tables(Arena *arena, Sizing *sizing, uint64_t gc, uint64_t heap) {
        for (size_t i = 0; i < ARRAY_LEN(collector_tables); i++) {
                const CollectorTable *row = &collector_tables[i];

                if (row->gc == gc)
                        sizing_add_mapping(arena, sizing, row->what,
                                           div_round_up(heap, row->heap_bytes_per_byte),
                                           row->min_pages);
        }
}

static const char *size_jvm(Arena *arena, const Settings *settings, uint64_t page_size_bytes,
                            Sizing *ret) {
        ParameterValue v[ARRAY_LEN(parameters)];
        Sizing sizing = {.page_size_bytes = page_size_bytes};
        const char *wrong = parameters_read(arena, &table, settings, v);

        if (!wrong)
                wrong = check(arena, v, page_size_bytes);
        if (wrong)
                return wrong;
        sizing_add_mapping(arena, &sizing, "Java heap", heap_bytes(v), 1);
        sizing_add_mapping(arena, &sizing, "code cache", v[RESERVED_CODE_CACHE_SIZE].number,
                           CODE_CACHE_MIN_PAGES);
        add_collector_tables(arena, &sizing, v[GC].number, heap_bytes(v));
        if (v[GC].number == GC_SHENANDOAH)
                sizing_add(arena, &sizing, "Shenandoah region table", "one page", page_size_bytes);
        sizing_add_idle(arena, &sizing, &table, settings);
        sizing_finish(&sizing);
        sizing.caveat = "an estimate, checked against OpenJDK 17 with a heap of 512m";
        *ret = sizing;
        return NULL;
}

const EngineFormula formula_jvm = {size_jvm};
