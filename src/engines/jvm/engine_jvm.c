/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A Java virtual machine (OpenJDK) with -XX:+UseLargePages: Elasticsearch, Cassandra and others.
 * The heap, the code cache and the collector's own tables, each mapped by itself.
 *
 * Source: HotSpot's os::page_size_for_region_aligned/unaligned() and their callers, which say from
 * how many pages on a region takes them; G1, Parallel and ZGC checked against OpenJDK 17 with a heap
 * of 512m, Serial and Shenandoah against nothing. Without enough pages G1 goes on with small ones,
 * ZGC ends. */

#include "base/text.h"
#include "engines/engine_rows.h"
#include "engines/jvm/jvm_options.h"
#include "read/unit_file.h"

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

/* ---- Memory=auto ---- */

enum { LINKS_MAX = 8, FILE_BYTES_MAX = 128 * 1024 };

/* Products that start Java by scripts of their own, which read files of options and set the
 * virtual machine's own variables aside (bin/elasticsearch-env). */
typedef struct Product {
        const char *unit; /* what its name begins with */
        const char *directory_variable, *directory;
        const char *options_variable;
        const char *java_variable, *java; /* the Java that comes with it */
} Product;

static const Product products[] = {
        {"elasticsearch", "ES_PATH_CONF", "/etc/elasticsearch", "ES_JAVA_OPTS", "ES_JAVA_HOME",
         "/usr/share/elasticsearch/jdk"},
        {"opensearch", "OPENSEARCH_PATH_CONF", "/etc/opensearch", "OPENSEARCH_JAVA_OPTS",
         "OPENSEARCH_JAVA_HOME", "/usr/share/opensearch/jdk"},
};

typedef struct Finder {
        Arena *arena;
        const EngineTarget *target;
        const Sources *sources;
        const UnitFile *unit; /* NULL: not known */
        const Product *product;
        JvmOptions options; /* in the order in which the virtual machine takes them */
        Gathered *ret;
} Finder;

static const char *environment(const Finder *finder, const char *variable,
                               const char **ret_origin) {
        const char *value = finder->unit
                                    ? unit_file_environment(finder->arena, finder->unit,
                                                            finder->sources, variable, ret_origin)
                                    : NULL;

        return value && *value ? value : NULL;
}

static const Product *find_product(const Finder *finder) {
        for (size_t i = 0; i < ARRAY_LEN(products); i++)
                if (finder->unit && (text_starts_with(finder->unit->name, products[i].unit) ||
                                     environment(finder, products[i].directory_variable, NULL)))
                        return &products[i];
        return NULL;
}

/* ---- the version ---- */

static bool is_java(const char *path) {
        return text_equals(path, "java") || text_ends_with(path, "/java");
}

/* The command lines that start the service, taken apart. */
static UnitWords start_words(const Finder *finder) {
        UnitWords none = {};

        if (!finder->unit)
                return none;
        const UnitAssignment *start = unit_file_find(finder->unit, "Service", "ExecStart");

        return start ? unit_file_command(finder->arena, finder->unit, finder->sources, start->value)
                     : none;
}

/* "/usr/bin/java" -> "/usr/lib/jvm/java-17-openjdk-amd64", by way of /etc/alternatives. */
static const char *home_of_program(const Finder *finder, const char *path) {
        const char *target;

        for (int i = 0;
             i < LINKS_MAX && (target = source_link(finder->sources, finder->arena, path)); i++)
                path = source_relative(finder->arena, path, target);
        return text_ends_with(path, "/bin/java")
                       ? arena_strndup(finder->arena, path, strlen(path) - strlen("/bin/java"))
                       : NULL;
}

static const char *find_java_home(const Finder *finder) {
        const Product *product = finder->product;
        UnitWords words = start_words(finder);
        const char *home = product ? environment(finder, product->java_variable, NULL) : NULL;

        if (product)
                return home ? home : product->java;
        if (words.n > 0 && *words.items[0] == '/' && is_java(words.items[0]))
                return home_of_program(finder, words.items[0]);
        home = environment(finder, "JAVA_HOME", NULL);
        return home ? home : home_of_program(finder, "/usr/bin/java");
}

/* JAVA_VERSION="17.0.9" in HOME/release. */
static const char *find_version(const Finder *finder) {
        static const char key[] = "JAVA_VERSION=\"";
        Arena *arena = finder->arena;
        const char *home = find_java_home(finder);

        if (!home || *home != '/')
                return NULL;
        SourceText text =
                source_read(finder->sources, arena, arena_printf(arena, "%s/release", home));
        SourceLines lines = source_lines(&text);
        const char *line;

        while ((line = source_line(arena, &lines)))
                if (text_starts_with(line, key) && jvm_major_version(line + strlen(key)) > 0)
                        return arena_strndup(arena, line + strlen(key),
                                             strspn(line + strlen(key), "0123456789._+-"));
        return NULL;
}

/* ---- files ---- */

/* A file that PATH names, by ORIGIN (NULL: the configuration). */
static const char *read_text(Finder *finder, const char *path, const char *origin,
                             SourceText *ret) {
        Arena *arena = finder->arena;

        *ret = source_read(finder->sources, arena, path);
        const char *wrong = ret->error < 0               ? strerror(-ret->error)
                            : ret->size > FILE_BYTES_MAX ? "it is too large for a file of options"
                            : memchr(ret->text, '\0', ret->size) ? "it is no text file"
                                                                 : NULL;

        return wrong ? arena_printf(arena, "%s%s%s cannot be read: %s", origin ? origin : "",
                                    origin ? ": " : "", path, wrong)
                     : NULL;
}

static const char *add_arguments(Finder *finder, const char *path, const char *origin) {
        SourceText text;
        const char *wrong = read_text(finder, path, origin, &text);

        if (!wrong)
                jvm_options_read_arguments(finder->arena, &text, path, &finder->options);
        return wrong;
}

static const char *add_lines(Finder *finder, const char *path) {
        const char *version = finder->ret->version;
        SourceText text;
        const char *wrong = read_text(finder, path, NULL, &text);

        if (!wrong)
                jvm_options_read_lines(finder->arena, &text, path,
                                       version ? jvm_major_version(version) : 0, &finder->options,
                                       &finder->ret->problems);
        return wrong;
}

/* A file of options, then those in the directory that is called after it: jvm.options.d. */
static const char *add_options_files(Finder *finder, const char *path) {
        Arena *arena = finder->arena;
        const char *directory = arena_printf(arena, "%s.d", path);
        SourceNames names = source_list(finder->sources, arena, directory);
        const char *wrong = add_lines(finder, path);

        for (size_t i = 0; i < names.n && !wrong; i++)
                if (text_ends_with(names.items[i], ".options"))
                        wrong = add_lines(finder,
                                          arena_printf(arena, "%s/%s", directory, names.items[i]));
        return wrong;
}

static const char *add_config_file(Finder *finder) {
        const Product *product = finder->product;
        const char *path = finder->target->config_file;

        if (!path && product) {
                const char *directory = environment(finder, product->directory_variable, NULL);

                path = arena_printf(finder->arena, "%s/jvm.options",
                                    directory ? directory : product->directory);
        }
        finder->ret->config_file = path;
        if (!path)
                return NULL;
        return text_ends_with(path, ".options") ? add_options_files(finder, path)
                                                : add_arguments(finder, path, NULL);
}

/* ---- command lines and variables ---- */

static void add_variable(Finder *finder, const char *variable) {
        const char *origin = NULL, *value = environment(finder, variable, &origin);

        if (value)
                jvm_options_read_variable(finder->arena, value, origin, &finder->options);
}

/* Options of the launcher whose value is a word of its own. */
static bool takes_next(const char *word) {
        static const char *const options[] = {
                "-cp",
                "-classpath",
                "--class-path",
                "-p",
                "--module-path",
                "--upgrade-module-path",
                "--add-modules",
                "--limit-modules",
                "--add-reads",
                "--add-exports",
                "--add-opens",
                "--patch-module",
                "--enable-native-access",
                "--source",
        };

        for (size_t i = 0; i < ARRAY_LEN(options); i++)
                if (text_equals(word, options[i]))
                        return true;
        return false;
}

static bool ends_options(const char *word) {
        return *word != '-' || text_equals(word, "-jar") || text_equals(word, "-m") ||
               text_equals(word, "--module");
}

/* "@FILE" below the unit's working directory. "@@" begins what is no file. */
static const char *add_argument_file(Finder *finder, const char *word, const char *origin) {
        const UnitAssignment *directory =
                unit_file_find(finder->unit, "Service", "WorkingDirectory");
        const char *below = directory ? directory->value + (*directory->value == '-') : "";

        if (word[1] == '@')
                return NULL;
        return add_arguments(finder,
                             word[1] == '/' ? word + 1
                                            : arena_printf(finder->arena, "%s/%s",
                                                           *below == '/' ? below : "", word + 1),
                             origin);
}

/* What java itself gets, up to the class or archive, whose arguments are its own. */
static const char *add_java_words(Finder *finder, const UnitWords *words, const char *origin) {
        const char *wrong = NULL;

        for (size_t i = 1; i < words->n && !wrong; i++) {
                const char *word = words->items[i];

                if (*word == '@')
                        wrong = add_argument_file(finder, word, origin);
                else if (ends_options(word))
                        break;
                else if (takes_next(word))
                        i++;
                else
                        *vec_push(finder->arena, &finder->options) = (JvmOption){word, origin};
        }
        return wrong;
}

/* A script gets options for Java among its own words, or within a line for a shell. */
static void add_script_words(Finder *finder, const UnitWords *words, const char *origin) {
        JvmOptions found = {};

        for (size_t i = 1; i < words->n; i++)
                jvm_options_read_variable(finder->arena, words->items[i], origin, &found);
        VEC_FOREACH(option, &found)
                if (text_starts_with(option->text, "-X"))
                        *vec_push(finder->arena, &finder->options) = *option;
}

static const char *add_unit(Finder *finder) {
        static const char *const of_scripts[] = {"JAVA_OPTS", "CATALINA_OPTS", "JVM_OPTS"};
        UnitWords words = start_words(finder);

        if (words.n == 0)
                return NULL;
        const UnitAssignment *start = unit_file_find(finder->unit, "Service", "ExecStart");
        const char *origin = source_origin(finder->arena, start->file, start->line);

        if (is_java(words.items[0]))
                return add_java_words(finder, &words, origin);
        add_script_words(finder, &words, origin);
        for (size_t i = 0; i < ARRAY_LEN(of_scripts); i++)
                add_variable(finder, of_scripts[i]);
        return NULL;
}

/* In the virtual machine's order, in which the last one counts: JAVA_TOOL_OPTIONS, the launcher's
 * JDK_JAVA_OPTIONS, the command line, _JAVA_OPTIONS (arguments.cpp, java(1)). */
static const char *add_options(Finder *finder) {
        const char *wrong;

        if (finder->product) {
                wrong = add_config_file(finder);
                add_variable(finder, finder->product->options_variable);
                return wrong;
        }
        add_variable(finder, "JAVA_TOOL_OPTIONS");
        add_variable(finder, "JDK_JAVA_OPTIONS");
        wrong = add_config_file(finder);
        if (!wrong)
                wrong = add_unit(finder);
        add_variable(finder, "_JAVA_OPTIONS");
        return wrong;
}

/* ---- what is missing ---- */

static const char *check_settings(const Finder *finder) {
        const Settings *settings = &finder->ret->settings;
        const char *unit = finder->target->unit, *file = finder->ret->config_file;
        const char *place = file ? file : unit;

        if (!place)
                return "nothing says where Java's options stand; write Unit=, or ConfigFile= "
                       "(jvm.options, or an argument file)";
        if (!settings_find(settings, "UseLargePages") &&
            !settings_find(settings, "UseTransparentHugePages"))
                return arena_printf(
                        finder->arena,
                        "%s: there is no -XX:+UseLargePages, without which Java takes no "
                        "reserved huge pages; add it, or remove this instance",
                        place);
        if (!settings_find(settings, "Xmx"))
                return arena_printf(finder->arena,
                                    "%s: there is no -Xmx, so that the heap depends on the host's "
                                    "memory; write one such as -Xmx31g",
                                    place);
        return NULL;
}

static const char *gather_jvm(Arena *arena, const EngineTarget *target, const Sources *sources,
                              Gathered *ret) {
        Finder finder = {
                .arena = arena,
                .target = target,
                .sources = sources,
                .unit = target->unit ? unit_file_read(arena, sources, target->unit) : NULL,
                .ret = ret,
        };
        const UnitAssignment *user = finder.unit ? unit_file_find(finder.unit, "Service", "User")
                                                 : NULL;

        ret->problems = diags_in(arena);
        ret->user = target->user ? target->user : user ? user->value : NULL;
        finder.product = find_product(&finder);
        ret->version = find_version(&finder);
        const char *wrong = add_options(&finder);

        if (wrong)
                return wrong;
        jvm_options_settings(arena, &finder.options, &ret->settings);
        return check_settings(&finder);
}

/* Transparent huge pages: madvise with -XX:+UseTransparentHugePages, instead of reserved ones; with
 * those it has no wish. */
const Engine engine_jvm = {
        .name = "jvm",
        .title = "Java",
        .thp_wish = THP_AUTO,
        .reserves = true,
        .memory_setting = "Xmx",
        .mebibyte_suffix = "m",
        .size = size_jvm,
        .gather = gather_jvm,
        .programs = "java javaw jsvc",
};
