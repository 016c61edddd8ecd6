/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The engines against measured and published figures (tests/vectors/formulas.tsv), and properties for any input:
 * more never takes fewer pages, and nothing wraps. */

#include "base/size.h"
#include "base/text.h"
#include "engines/reader.h"
#include "support/settings.h"
#include "support/story.h"

static const uint64_t page_sizes[] = {64 * KIB, 2 * MIB, 512 * MIB, GIB, 16 * GIB};

static const char *try_size(Arena *arena, const char *engine_name, const char *text,
                            uint64_t page_size_bytes, Sizing *ret) {
        const Engine *engine = engine_find(engine_name);
        Settings settings = settings_from(arena, text);

        assert_non_null(engine);
        const char *unknown = settings_refuse_unknown(arena, engine, &settings);

        return unknown ? unknown : engine_size(engine, arena, &settings, page_size_bytes, ret);
}

/* What must hold for every result: the steps add up to the pages, and pages and bytes agree. */
static void assert_consistent(const Sizing *sizing, uint64_t page_size_bytes) {
        uint64_t sum = 0;

        for (size_t i = 0; i < sizing->steps.n; i++) {
                assert_non_null(sizing->steps.items[i].what);
                sum = add_saturated(sum, sizing->steps.items[i].bytes);
        }
        uint64_t pages = div_round_up(sum, page_size_bytes);

        assert_int_equal(sizing->page_size_bytes, page_size_bytes);
        assert_true(sizing->pages > 0);
        assert_true(sizing->pages == pages);
        assert_true(sizing->bytes == mul_saturated(pages, page_size_bytes));
        assert_true(sizing->is_exact == (sizing->caveat == NULL));
}

static uint64_t pages_of(Arena *arena, const char *engine_name, const char *text,
                         uint64_t page_size_bytes) {
        Sizing sizing;
        const char *wrong = try_size(arena, engine_name, text, page_size_bytes, &sizing);

        if (wrong)
                fail_msg("%s %s: %s", engine_name, text, wrong);
        assert_consistent(&sizing, page_size_bytes);
        return sizing.pages;
}

/* Engine, settings ("-": none), page size, the fewest and the most pages, separated by tabs. */
static void check_row(Arena *arena, const char *line) {
        const char *words[5];
        uint64_t page_size_bytes, least, most, pages;

        for (size_t i = 0; i < ARRAY_LEN(words); i++)
                assert_non_null(words[i] = text_next_word(arena, &line, "\t"));
        assert_int_equal(parse_size_bytes(words[2], &page_size_bytes), 0);
        assert_int_equal(parse_u64(words[3], &least), 0);
        assert_int_equal(parse_u64(words[4], &most), 0);
        pages = pages_of(arena, words[0], text_equals(words[1], "-") ? "" : words[1],
                         page_size_bytes);
        if (pages < least || pages > most)
                fail_msg("%s %s: %" PRIu64 " pages, not %" PRIu64 " to %" PRIu64, words[0],
                         words[1], pages, least, most);
}

TEST(formulas_say_what_was_measured_or_published) {
        assert_int_equal(for_each_row(TEST_SOURCE_DIR "/vectors/formulas.tsv", check_row), 212);
}

/* Adding up settings has a limit, whatever the owner's files contain. */
TEST(too_many_to_add_up) {
        static const char *const cases[][3] = {{"oracle", "sga_target", "64M"},
                                               {"mariadb", "key_buffer_size", "8M"}};

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Engine *engine = engine_find(cases[i][0]);
                const char *wrong = NULL;
                Settings settings = {};
                Sizing sizing;

                for (int n = 0; n <= 64; n++) {
                        wrong = n < 64 ? NULL
                                       : engine_size(engine, arena, &settings, 2 * MIB, &sizing);
                        assert_null(wrong);
                        settings_add(arena, &settings,
                                     arena_printf(arena, "x%d.%s", n, cases[i][1]), cases[i][2],
                                     "/f:1");
                }
                wrong = engine_size(engine, arena, &settings, 2 * MIB, &sizing);
                assert_contains(wrong, "than hugeplan adds up");
        }
}

/* "hot.key_buffer_size" of an option file: 11 pages for 20M, as measured, and one for a name. */
TEST(named_key_caches) {
        Settings settings = settings_from(arena, "innodb_buffer_pool_size=64M");
        const Engine *engine = engine_find("mariadb");
        Sizing without, with;

        assert_null(engine_size(engine, arena, &settings, 2 * MIB, &without));
        settings_add(arena, &settings, "hot.key_buffer_size", "20M", "/etc/my.cnf:3");
        settings_add(arena, &settings, "cold.key_buffer_size", "1G", "/etc/my.cnf:4");
        settings_add(arena, &settings, "cold.key_buffer_size", "3M", "/etc/my.cnf:5");
        assert_null(engine_size(engine, arena, &settings, 2 * MIB, &with));
        assert_consistent(&with, 2 * MIB);
        assert_int_equal(with.pages - without.pages, 9 + 2);
        settings_add(arena, &settings, "hot.key_buffer_size", "20X", "/etc/my.cnf:6");
        assert_non_null(
                strstr(engine_size(engine, arena, &settings, 2 * MIB, &with), "/etc/my.cnf:6"));
}

/* PostgreSQL 18 and its handles: 42 pages more at 1024, as measured, and some for the bound. 17 refuses the setting. */
TEST(io_max_concurrency) {
        uint64_t without =
                pages_of(arena, "postgresql", "shared_buffers=1GB server_version=18", 2 * MIB);
        uint64_t with = pages_of(arena, "postgresql",
                                 "shared_buffers=1GB server_version=18.6 io_max_concurrency=1024",
                                 2 * MIB);
        Sizing sizing;

        assert_uint_in_range(with - without, 42, 52);
        /* 64 handles for each of about 174 processes, with 112 blocks of 24 bytes. */
        with = pages_of(arena, "postgresql", "shared_buffers=1GB io_max_combine_limit=1MB",
                        2 * MIB);
        assert_uint_in_range(with - without, 14, 17);
        assert_non_null(try_size(arena, "postgresql", "io_max_concurrency=1024 server_version=17",
                                 2 * MIB, &sizing));
}

/* A ring of liburing takes two base pages for each of about 140 processes; unknown base pages count as large. */
TEST(rings_in_base_pages) {
        static const char rings[] = "shared_buffers=1GB server_version=18.6 io_method=io_uring";
        const char *small = arena_printf(arena, "%s host_base_page=4096", rings);
        const char *large = arena_printf(arena, "%s host_base_page=65536", rings);
        uint64_t pages = pages_of(arena, "postgresql", large, 2 * MIB);

        assert_uint_in_range(pages - pages_of(arena, "postgresql", small, 2 * MIB), 7, 10);
        assert_int_equal(pages_of(arena, "postgresql", rings, 2 * MIB), pages);
}

/* ---- what must hold for any input ---- */

typedef struct Input {
        const char *engine;
        const char *base;   /* the other settings */
        const char *name;   /* the numeric one */
        const char *suffix; /* that makes its unit explicit */
        bool is_bytes;      /* so that the result is at least as large as the input */
} Input;

/* Not included: Java's parallel collector, whose bitmaps of some heaps are in small pages, and ZGC, which has one
 * page size; PostgreSQL's buffers for which 0 lets the server choose; MySQL's chunk size, page size and instances,
 * because larger chunks have smaller remainders and more instances can divide the pool better, so that more really
 * takes less. */
static const Input inputs[] = {
        {"generic", "", "memory", "", true},
        {"db2", "", "memory", "", true},
        {"kubelet", "", "memory", "", true},
        {"postgresql", "", "shared_buffers", "B", true},
        {"postgresql", "", "shared_buffers", "", true},
        {"postgresql", "", "max_connections", "", false},
        {"postgresql", "", "autovacuum_max_workers", "", false},
        {"postgresql", "", "autovacuum_worker_slots", "", false},
        {"postgresql", "", "max_worker_processes", "", false},
        {"postgresql", "", "max_wal_senders", "", false},
        {"postgresql", "", "max_prepared_transactions", "", false},
        {"postgresql", "max_connections=1000", "max_locks_per_transaction", "", false},
        {"postgresql", "", "max_pred_locks_per_transaction", "", false},
        {"postgresql", "", "max_replication_slots", "", false},
        {"postgresql", "", "min_dynamic_shared_memory", "B", true},
        {"postgresql", "", "wal_buffers", "B", false},
        {"postgresql", "shared_buffers=1TB wal_segment_size=1GB", "wal_buffers", "B", false},
        {"postgresql", "shared_buffers=1TB", "wal_segment_size", "B", false},
        {"postgresql", "", "track_activity_query_size", "B", false},
        {"postgresql", "io_max_combine_limit=1MB", "io_max_concurrency", "", false},
        {"postgresql", "", "io_max_combine_limit", "B", false},
        {"postgresql", "", "multixact_member_buffers", "B", true},
        {"postgresql", "", "multixact_offset_buffers", "B", true},
        {"postgresql", "", "notify_buffers", "B", true},
        {"postgresql", "", "serializable_buffers", "B", true},
        {"postgresql", "shared_preload_libraries=pg_stat_statements", "pg_stat_statements.max", "",
         false},
        {"oracle", "", "sga_max_size", "", true},
        {"oracle", "sga_max_size=8G", "sga_target", "", true},
        {"mariadb", "", "innodb_buffer_pool_size", "", true},
        {"mariadb", "server_version=10.5.29 innodb_buffer_pool_chunk_size=16G",
         "innodb_buffer_pool_size", "", true},
        {"mariadb", "server_version=10.11.7", "innodb_buffer_pool_size", "", true},
        {"mariadb", "innodb_buffer_pool_size=64G", "innodb_log_buffer_size", "", false},
        {"mariadb", "innodb_buffer_pool_size=64G", "key_buffer_size", "", false},
        {"mariadb", "innodb_buffer_pool_size=64G key_cache_segments=7", "key_buffer_size", "",
         false},
        {"mariadb", "innodb_buffer_pool_size=64G", "aria_pagecache_buffer_size", "", false},
        {"mysql", "", "innodb_buffer_pool_size", "", true},
        {"mysql", "innodb_buffer_pool_instances=5", "innodb_buffer_pool_size", "", true},
        {"jvm", "", "Xmx", "", true},
        {"jvm", "gc=serial", "Xmx", "", true},
        {"jvm", "gc=shenandoah", "Xmx", "", true},
        {"jvm", "Xmx=64g", "ReservedCodeCacheSize", "", false},
};

/* xorshift64*: the same numbers on every machine. */
static uint64_t next_random(uint64_t *seed) {
        *seed ^= *seed >> 12;
        *seed ^= *seed << 25;
        *seed ^= *seed >> 27;
        return *seed * UINT64_C(2685821657736338717);
}

/* Every magnitude is equally likely; often next to a power of two. */
static uint64_t random_number(uint64_t *seed) {
        uint64_t number = next_random(seed) >> (next_random(seed) % 64);

        switch (next_random(seed) % 4) {
        case 0:
                return number & ~(number >> 1);
        case 1:
                return UINT64_C(1) << (next_random(seed) % 64);
        default:
                return number;
        }
}

/* Returns false if the value is refused: too small, or beyond UINT64_MAX in its unit. */
static bool size_input(Arena *arena, const Input *input, uint64_t number, uint64_t page_size_bytes,
                       Sizing *ret) {
        const char *text = arena_printf(arena, "%s %s=%" PRIu64 "%s", input->base, input->name,
                                        number, input->suffix);
        const char *wrong = try_size(arena, input->engine, text, page_size_bytes, ret);

        if (wrong && !strstr(wrong, input->name))
                fail_msg("%s %s: does not name it: %s", input->engine, text, wrong);
        if (wrong)
                return false;
        assert_consistent(ret, page_size_bytes);
        if (input->is_bytes && ret->bytes < number)
                fail_msg("%s %s: only %" PRIu64 " bytes", input->engine, text, ret->bytes);
        return true;
}

/* Returns whether both values were accepted. */
static bool check_pair(Arena *arena, const Input *input, uint64_t a, uint64_t b,
                       uint64_t page_size_bytes) {
        uint64_t less = MIN(a, b), more = MAX(a, b);
        Sizing small, large;

        if (!size_input(arena, input, less, page_size_bytes, &small) ||
            !size_input(arena, input, more, page_size_bytes, &large))
                return false;
        if (small.pages > large.pages || small.bytes > large.bytes)
                fail_msg("%s %s %s: %" PRIu64 " takes %" PRIu64 " pages, but %" PRIu64
                         " takes %" PRIu64,
                         input->engine, input->base, input->name, less, small.pages, more,
                         large.pages);
        return true;
}

enum { PAIRS = 200 };

static void check_monotone(const Input *input, uint64_t page_size_bytes, uint64_t *seed) {
        size_t accepted = 0;

        for (size_t i = 0; i < PAIRS; i++) {
                CLEANUP(arena_freep) Arena *arena = arena_new();
                uint64_t a = random_number(seed);
                uint64_t b = i % 2 == 0 ? random_number(seed) : a + next_random(seed) % (8 * MIB);

                accepted += check_pair(arena, input, a, b, page_size_bytes);
        }
        if (accepted < PAIRS / 8)
                fail_msg("%s %s: too much is refused", input->engine, input->name);
}

TEST(monotone) {
        uint64_t seed = 20260101;

        for (size_t i = 0; i < ARRAY_LEN(inputs); i++)
                for (size_t j = 0; j < ARRAY_LEN(page_sizes); j++)
                        check_monotone(&inputs[i], page_sizes[j], &seed);
}

/* All numbers of PostgreSQL together, one of them raised. Returns false if one is too small. */
static bool check_raised(Arena *arena, uint64_t *seed) {
        Text less = text_in(arena), more = text_in(arena);
        uint64_t raised = next_random(seed) % ARRAY_LEN(inputs);
        Sizing small, large;

        for (size_t i = 0; i < ARRAY_LEN(inputs); i++) {
                const Input *input = &inputs[i];
                uint64_t number = random_number(seed) >> 24;

                if (!text_equals(input->engine, "postgresql"))
                        continue;
                text_printf(&less, "%s=%" PRIu64 "%s ", input->name, number, input->suffix);
                text_printf(&more, "%s=%" PRIu64 "%s ", input->name,
                            number + (i == raised ? random_number(seed) >> 24 : 0), input->suffix);
        }
        if (try_size(arena, "postgresql", less.string, 2 * MIB, &small) ||
            try_size(arena, "postgresql", more.string, 2 * MIB, &large))
                return false;
        assert_consistent(&large, 2 * MIB);
        if (small.pages > large.pages)
                fail_msg("%s\n%s", less.string, more.string);
        return true;
}

TEST(monotone_together) {
        uint64_t seed = 20260102;
        size_t accepted = 0;

        for (size_t i = 0; i < 10000; i++) {
                CLEANUP(arena_freep) Arena *own = arena_new();

                accepted += check_raised(own, &seed);
        }
        assert_true(accepted > 1000);
}

/* The bounds at which a formula changes, from just below to just above. */
TEST(monotone_at_bounds) {
        static const uint64_t bounds[] = {64 * MIB, 128 * MIB, GIB,      2 * GIB,   8 * GIB,
                                          16 * GIB, 32 * GIB,  64 * GIB, 128 * GIB, TIB};

        for (size_t i = 0; i < ARRAY_LEN(inputs); i++)
                for (size_t j = 0; j < ARRAY_LEN(bounds); j++)
                        for (size_t k = 0; k < ARRAY_LEN(page_sizes); k++) {
                                CLEANUP(arena_freep) Arena *own = arena_new();

                                check_pair(own, &inputs[i], bounds[j] - 1, bounds[j],
                                           page_sizes[k]);
                                check_pair(own, &inputs[i], bounds[j], bounds[j] + 1,
                                           page_sizes[k]);
                        }
}

/* Nothing wraps at the largest numbers: the result is as large as a number can be. */
TEST(extremes) {
        static const char *const extremes[][2] = {
                {"generic", "memory=18446744073709551615"},
                {"postgresql", "shared_buffers=18446744073709551615B"},
                {"postgresql", "max_connections=18446744073709551615"},
                {"postgresql", "max_locks_per_transaction=18446744073709551615"},
                {"postgresql", "min_dynamic_shared_memory=18446744073709551615B"},
                {"postgresql", "track_activity_query_size=18446744073709551615"},
                {"postgresql", "io_max_concurrency=18446744073709551615"},
                {"postgresql", "wal_buffers=18446744073709551615B"},
                {"oracle", "sga_target=18446744073709551615"},
                {"oracle", "sga_max_size=15E sga_target=18446744073709551615"},
                {"mariadb", "innodb_buffer_pool_size=18446744073709551615"},
                {"mariadb",
                 "innodb_buffer_pool_size=1P innodb_log_buffer_size=18446744073709551615"},
                {"mysql", "innodb_buffer_pool_size=18446744073709551615"},
                {"mysql", "innodb_buffer_pool_size=15E "
                          "innodb_buffer_pool_chunk_size=18446744073709551615 "
                          "innodb_buffer_pool_instances=18446744073709551615"},
                {"jvm", "Xmx=18446744073709551615"},
        };

        for (size_t i = 0; i < ARRAY_LEN(extremes); i++)
                for (size_t j = 0; j < ARRAY_LEN(page_sizes); j++) {
                        uint64_t least = UINT64_MAX / page_sizes[j];
                        uint64_t pages =
                                pages_of(arena, extremes[i][0], extremes[i][1], page_sizes[j]);

                        /* Rounding down may drop the fixed part, but not 2 %. */
                        if (pages < least - least / 50)
                                fail_msg("%s %s: %" PRIu64 " pages of %" PRIu64, extremes[i][0],
                                         extremes[i][1], pages, page_sizes[j]);
                }
}

/* ---- settings ---- */

/* Every name in the table of inputs with one wrong letter: the message names the right one. */
TEST(near_matches) {
        for (size_t i = 0; i < ARRAY_LEN(inputs); i++) {
                size_t length = strlen(inputs[i].name);
                const char *spoilt = arena_printf(arena, "%.*sq%s", (int) (length / 2),
                                                  inputs[i].name, inputs[i].name + length / 2);
                const char *meant = arena_printf(arena, "did you mean %s?", inputs[i].name);
                Sizing sizing;
                const char *wrong = try_size(arena, inputs[i].engine,
                                             arena_printf(arena, "%s=1", spoilt), 2 * MIB, &sizing);

                assert_non_null(wrong);
                if (!strstr(wrong, spoilt) || !strstr(wrong, meant))
                        fail_msg("%s: %s", spoilt, wrong);
        }
}

/* The product's own file has other settings, too; those that determine the size are read. */
TEST(settings_with_origin) {
        Settings settings = {};
        Sizing sizing;

        settings_add(arena, &settings, "search_path", "x", "postgresql.conf:1");
        settings_add(arena, &settings, "work_mem", "4MB", "postgresql.conf:2");
        settings_add(arena, &settings, "shared_buffers", "128GB", "postgresql.conf:3");
        assert_null(engine_size(engine_find("postgresql"), arena, &settings, 2 * MIB, &sizing));
        assert_uint_in_range(sizing.pages, 66913, 67600);
        for (size_t i = 0; i < sizing.steps.n; i++)
                assert_string_not_equal(sizing.steps.items[i].what, "work_mem");

        settings_add(arena, &settings, "shared_buffers", "128X", "postgresql.conf:4");

        const char *wrong =
                engine_size(engine_find("postgresql"), arena, &settings, 2 * MIB, &sizing);

        assert_non_null(wrong);
        assert_true(text_starts_with(wrong, "shared_buffers (postgresql.conf:4): '128X'"));
}

TEST(settings_find) {
        Settings settings = settings_from(arena, "Key_Buffer-size=1 other=2 key_buffer_size=3 x=");

        assert_string_equal(settings_find(&settings, "KEY_BUFFER_SIZE")->value, "3");
        assert_string_equal(settings_find(&settings, "other")->value, "2");
        assert_string_equal(settings_find(&settings, "x")->value, "");
        assert_null(settings_find(&settings, "key_buffer"));
        assert_null(settings_find(&settings, "key_buffer_sizes"));
        assert_null(settings_find(&(Settings){}, "x"));
}

/* Memory= is passed as bytes with the suffix B, under each engine's own name. */
TEST(memory_setting) {
        size_t n = 0;

        for (size_t i = 0; i < n_engines; i++) {
                if (!engines[i]->memory_setting)
                        continue;
                const char *bytes =
                        arena_printf(arena, "%s=8589934592B", engines[i]->memory_setting);

                assert_uint_in_range(pages_of(arena, engines[i]->name, bytes, 2 * MIB), 4096, 4500);
                n++;
        }
        assert_int_equal(n, 5);
}

/* ---- registry ---- */

TEST(registry) {
        for (size_t i = 0; i < n_engines; i++) {
                const Engine *engine = engines[i];

                assert_ptr_equal(engine_find(engine->name), engine);
                assert_non_null(engine->title);
                assert_int_equal(engine_reader(engine)->gather != NULL, engine->has_auto);
                assert_int_equal(engine_reader(engine)->ask != NULL,
                                 engine_reader(engine)->answer != NULL);
                assert_true(engine->thp_preference != THP_KEEP);
                if (engine->default_unit)
                        assert_true(text_ends_with(engine->default_unit, ".service"));
        }
        assert_null(engine_find("postgres"));
        assert_null(engine_find(""));
        assert_string_equal(engine_refuse(arena, "postgres"),
                            "there is no engine 'postgres' (did you mean postgresql?)");
        assert_string_equal(engine_refuse(arena, "sybase"), "there is no engine 'sybase'");
}

/* ---- stories ---- */

/* The settings after ENGINE. */
static const char *settings_at(const StoryLine *line) {
        const char *rest = strchr(line->rest, ' ');

        return rest ? rest + 1 : "";
}

PLAIN_VERB(do_refuse, "refuse refuse-1G") {
        Sizing sizing = {.pages = 4711};
        const char *wrong = try_size(line->arena, line->words[1], settings_at(line),
                                     text_equals(line->words[0], "refuse") ? 2 * MIB : GIB,
                                     &sizing);

        assert_int_equal(sizing.pages, 4711);
        return wrong;
}

PLAIN_VERB(do_caveat, "caveat") {
        Sizing sizing;

        assert_null(try_size(line->arena, line->words[1], settings_at(line), 2 * MIB, &sizing));
        return sizing.caveat;
}

/* ENGINE SETTINGS = SETTINGS: whether both take the same pages of 2M. */
PLAIN_VERB(do_same, "same") {
        const char *engine = line->words[1], *rest = settings_at(line),
                   *middle = strstr(rest, " = ");

        return story_yes(pages_of(line->arena, engine,
                                  arena_strndup(line->arena, rest, (size_t) (middle - rest)),
                                  2 * MIB) ==
                         pages_of(line->arena, engine, middle + strlen(" = "), 2 * MIB));
}

static const char *fingerprint(Arena *arena, const char *engine, const char *settings) {
        const Settings list = settings_from(arena, settings);

        return engine_fingerprint(engine_find(engine), arena, &list);
}

/* ENGINE SETTINGS = SETTINGS: whether they have the same fingerprint; "none": they have none. */
PLAIN_VERB(do_fingerprint, "fingerprint") {
        const char *engine = line->words[1], *rest = settings_at(line),
                   *middle = strstr(rest, " = ");
        const char *first = fingerprint(line->arena, engine,
                                        arena_strndup(line->arena, rest, (size_t) (middle - rest)));

        return first ? story_yes(text_equals(
                               first, fingerprint(line->arena, engine, middle + strlen(" = "))))
                     : "none";
}

PLAIN_VERB(do_side, "side") {
        Version version;

        assert_int_equal(parse_version(line->words[1], &version), 0);
        return arena_printf(line->arena, "%d", version_side(version, VERSION(17, 0, 10)));
}

PLAIN_VERB(do_sysv, "sysv") {
        const char *version = text_equals(line->words[2], "-") ? NULL : line->words[2];

        return story_yes(engine_uses_sysv(engine_find(line->words[1]), version));
}

PLAIN_VERB(do_thp, "thp") {
        return thp_policy_name(engine_find(line->words[1])->thp_preference);
}

STORY_TEST(stories, "unit/engines/engine")

TEST(version_that_is_not_known) {
        assert_int_equal(version_side((Version){}, VERSION(17)), 0);
}
