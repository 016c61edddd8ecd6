/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the owner of a database says, on its way to root: all of it arrives, or none. */

#include "demand/figure_json.h"
#include "demand/lesson_json.h"
#include "support/testing.h"

static const uint64_t page_sizes[] = {GIB, 2 * MIB};

static const InstanceConfig *instance_of(Arena *arena, const char *engine) {
        const char *text = arena_printf(arena, "[Instance]\nEngine=%s\n", engine);

        return config_find(config_make(arena, "20-db.conf", text, NULL), "db");
}

static Figure figure_of(const Gathered *gathered, uint64_t pages, bool is_exact) {
        return (Figure){.instance = "db",
                        .gathered = gathered,
                        .sizing = {.page_size_bytes = 2 * MIB,
                                   .pages = pages,
                                   .bytes = pages * 2 * MIB,
                                   .is_exact = is_exact}};
}

/* Asked, with one setting. */
static Lesson lesson_of(Arena *arena) {
        Gathered *gathered = ARENA_NEW(arena, Gathered);
        Lesson lesson = {.instance = instance_of(arena, "postgresql")};

        gathered->problems = diags_in(arena);
        gathered->version = "15.18";
        *vec_push(arena, &gathered->settings) = (Setting){"shared_buffers", "2GB", "/x.conf:3"};
        *vec_push(arena, &lesson.by_rule) = figure_of(gathered, 1113, false);
        *vec_push(arena, &lesson.figures) = figure_of(gathered, 1081, true);
        return lesson;
}

static int send(Arena *arena, const Lesson *lesson, Lesson *ret) {
        json_t *json = lesson_to_json(arena, lesson);
        char *text = json_dumps(json, JSON_COMPACT);

        json_decref(json);
        json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        free(text);
        int r = lesson_from_json(arena, json, lesson->instance, page_sizes, ARRAY_LEN(page_sizes),
                                 ret);

        json_decref(json);
        return r;
}

static void test_figures(void **state) {
        Lesson lesson = lesson_of(*state), told = {};

        assert_int_equal(send(*state, &lesson, &told), 0);
        assert_null(told.wrong);
        assert_null(told.unasked);
        assert_true(told.is_exact);
        assert_text(told.version, "15.18");
        assert_int_equal(told.by_rule.items[0].sizing.pages, 1113);
        assert_int_equal(told.figures.items[0].sizing.pages, 1081);
        assert_text(settings_find(&told.gathered->settings, "shared_buffers")->origin, "/x.conf:3");
        assert_ptr_equal(told.figures.items[0].gathered, told.gathered);
        const Learned heard = learned_of(*state, &told);
        const Learned said =
                learned_of(*state, &(Lesson){.instance = lesson.instance,
                                             .figures = lesson.figures,
                                             .by_rule = lesson.by_rule,
                                             .gathered = lesson.by_rule.items[0].gathered,
                                             .is_exact = true,
                                             .version = "15.18"});

        assert_text(learned_format(*state, lesson.instance, &heard, "a day"),
                    learned_format(*state, lesson.instance, &said, "a day"));
}

static void test_unasked(void **state) {
        Lesson lesson = lesson_of(*state), told = {};

        lesson.figures = lesson.by_rule;
        lesson.unasked = "it hangs";
        assert_int_equal(send(*state, &lesson, &told), 0);
        assert_text(told.unasked, "it hangs");
        assert_false(told.is_exact);
}

/* The server's word without a rule; a rule's figure must have one. */
static void test_word_alone(void **state) {
        Lesson lesson = lesson_of(*state), told = {};

        lesson.by_rule = (Figures){};
        assert_int_equal(send(*state, &lesson, &told), 0);
        assert_int_equal(told.by_rule.n, 0);
        assert_int_equal(told.figures.items[0].sizing.pages, 1081);
        assert_true(told.is_exact);
        assert_text(told.version, "15.18");
        lesson.figures.items[0].sizing.is_exact = false;
        assert_int_equal(send(*state, &lesson, &told), -EINVAL);
}

static void test_wrong(void **state) {
        Lesson lesson = lesson_of(*state), told = {};

        lesson.wrong = "its files are broken";
        assert_int_equal(send(*state, &lesson, &told), 0);
        assert_text(told.wrong, "its files are broken");
        assert_int_equal(told.figures.n, 0);
        assert_null(told.gathered);
}

static void test_version(void **state) {
        static const char *const bad[] = {"", "8.0\nPages=1", "8.0 x", "v8",
                                          "8.000000000000000000000000000000000000000000"};
        Lesson lesson = {.instance = instance_of(*state, "mongodb"), .version = "8.0.4"}, told = {};

        assert_int_equal(send(*state, &lesson, &told), 0);
        assert_text(told.version, "8.0.4");
        /* Of a size that is given, too. */
        lesson.instance = config_find(
                config_make(*state, "db.conf", "[Instance]\nEngine=mysql\nMemory=8G\n", NULL),
                "db");
        assert_int_equal(send(*state, &lesson, &told), 0);
        assert_text(told.version, "8.0.4");
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                lesson.version = bad[i];
                assert_int_equal(send(*state, &lesson, &told), -EINVAL);
        }
        /* Nor may one that reserves nothing come with figures, or one with Memory=auto without. */
        lesson = lesson_of(*state);
        lesson.instance = instance_of(*state, "mongodb");
        assert_int_equal(send(*state, &lesson, &told), -EINVAL);
        lesson = (Lesson){.instance = instance_of(*state, "postgresql"), .version = "15"};
        assert_int_equal(send(*state, &lesson, &told), -EINVAL);
}

static int take(Arena *arena, const char *text, size_t n_page_sizes) {
        json_t *json = json_loads(text, 0, NULL);
        Lesson lesson = {};

        assert_non_null(json);
        int r = lesson_from_json(arena, json, instance_of(arena, "postgresql"), page_sizes,
                                 n_page_sizes, &lesson);

        json_decref(json);
        if (r < 0)
                assert_null(lesson.instance);
        return r;
}

#define REST "\"unasked\":null,\"version\":null,\"byRule\":null,\"figures\":null"

static void test_refusals(void **state) {
        Arena *arena = *state;
        static const char *const bad[] = {
                "{}",
                "[]",
                "{\"wrong\":1," REST "}",
                "{\"wrong\":\"no\",\"more\":1," REST "}",
                "{\"wrong\":null," REST "}",
                ("{\"wrong\":\"no\",\"unasked\":\"no\",\"version\":null,"
                 "\"byRule\":null,\"figures\":null}"),
        };

        assert_int_equal(take(arena, "{\"wrong\":\"no\"," REST "}", 2), 0);
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                assert_int_equal(take(arena, bad[i], 2), -EINVAL);
        /* Of other page sizes, of none, and one that says that it is none. */
        Lesson lesson = lesson_of(arena), told = {};
        json_t *json = lesson_to_json(arena, &lesson);

        assert_int_equal(lesson_from_json(arena, json, lesson.instance, page_sizes, 1, &told),
                         -EINVAL);
        assert_int_equal(lesson_from_json(arena, json, lesson.instance, page_sizes, 0, &told),
                         -EINVAL);
        json_decref(json);
        lesson.figures.items[0].wrong = "no";
        assert_int_equal(send(arena, &lesson, &told), -EINVAL);
}

/* What no host of that memory can have was not found out: it does not become the last figure. */
static void test_held_to_memory(void **state) {
        const Config config = {.host.auto_memory = {.is_share = true, .hundredths = 10000}};
        const Topology *topology = host_make(*state, "sizes 1G 2M\nnode 0 total=4G free=3G\n"
                                                     "node 1 total=4G free=3G\n");
        static const struct {
                uint64_t pages;
                const char *wrong;
        } rows[] = {
                {1, NULL},
                {4096, NULL},
                {0, "it comes to no pages at all"},
                {INT64_MAX, "more than can be counted"},
                {UINT64_MAX, "more than can be counted"},
        };

        ARRAY_FOREACH(row, rows, ARRAY_LEN(rows)) {
                Lesson lesson = lesson_of(*state);
                json_t *json;

                lesson.figures.items[0].sizing.pages = row->pages;
                lesson_hold_to(topology, &lesson);
                assert_int_equal(lesson.wrong == NULL, row->wrong == NULL);
                if (row->wrong)
                        assert_contains(lesson.wrong, row->wrong);
                assert_int_equal(lesson_use(&lesson), row->wrong ? LESSON_UNKNOWN : LESSON_LEARN);
                assert_int_equal(lesson_beyond(*state, &config, topology, &lesson).kind,
                                 REASON_NONE);
                /* So it is with all that hand numbers of pages on. */
                PageCounts counts = {}, read = {};

                *vec_push(*state, &counts) = (PageCount){2 * MIB, row->pages};
                json = page_counts_to_json(&counts);
                assert_int_equal(page_counts_from_json(*state, json, topology, &read),
                                 row->wrong ? -EINVAL : 0);
                json_decref(json);
        }
}

/* What the server says and the host cannot have is heard, for the gate to refuse, and not kept. */
static void test_beyond_memory(void **state) {
        const Config config = {.host.auto_memory = {.is_share = true, .hundredths = 10000}};
        const Topology *topology = host_make(*state, "sizes 1G 2M\nnode 0 total=8G free=6G\n");
        Lesson lesson = lesson_of(*state);

        lesson.figures.items[0].sizing.pages = 4097;
        lesson_hold_to(topology, &lesson);
        assert_null(lesson.wrong);
        assert_text(lesson_beyond(*state, &config, topology, &lesson).text,
                    "it comes to 4,097 pages of 2M (8G), and this host has 8G of memory");
        lesson.figures.items[0].sizing.pages = 4096;
        assert_int_equal(lesson_beyond(*state, &config, topology, &lesson).kind, REASON_NONE);
}

TEST_FILE(lesson) {
        const struct CMUnitTest tests[] = {
                TEST(test_figures),        TEST(test_unasked),       TEST(test_word_alone),
                TEST(test_wrong),          TEST(test_version),       TEST(test_refusals),
                TEST(test_held_to_memory), TEST(test_beyond_memory),
        };

        return RUN_TESTS(tests);
}
