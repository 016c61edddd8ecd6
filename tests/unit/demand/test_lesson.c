/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reports of a database's gate, which the owner may have written: all of a report is taken, or nothing. */

#include "demand/learned.h"
#include "support/story.h"

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

/* With one setting, by asking the server. */
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

static const char host_text[] = "sizes 1G 2M\nnode 0 total=8G free=6G\n";

static int take_json(Arena *arena, json_t *json, const char *engine, Learned *ret) {
        int r = learned_from_json(arena, json, instance_of(arena, engine),
                                  host_make(arena, host_text), ret);

        json_decref(json);
        return r;
}

/* A report from another process loses nothing, and makes the same file. */
TEST(comes_whole) {
        Lesson lesson = lesson_of(arena);

        lesson.version = "15.18";
        lesson.gathered = lesson.by_rule.items[0].gathered;
        for (int i = 0; i < 8; i++) {
                Learned read = {};

                lesson.is_exact = i & 1;
                lesson.is_of_running = i & 2;
                if (i & 4)
                        lesson.by_rule = (Figures){};
                const Learned reported = learned_of(arena, &lesson);

                assert_int_equal(take_json(arena, learned_to_json(&reported), "postgresql", &read),
                                 0);
                assert_text(learned_format(arena, lesson.instance, &read, "a day"),
                            learned_format(arena, lesson.instance, &reported, "a day"));
                assert_int_equal(read.is_exact, lesson.is_exact);
                assert_int_equal(read.is_of_running, lesson.is_of_running);
        }
}

/* ENGINE JSON */
PLAIN_VERB(do_say, "say") {
        const char *engine = story_unescape(line->arena, line->words[1]);
        json_t *json =
                json_loads(story_unescape(line->arena, strchr(line->rest, ' ') + 1), 0, NULL);
        Learned learned = {};

        assert_non_null(json);
        int r = take_json(line->arena, json, engine, &learned);

        assert_true(r == 0 || r == -EINVAL);
        assert_int_equal(learned.pages.n, r == 0 && text_equals(engine, "postgresql"));
        return r == 0 ? "taken" : "refused";
}

STORY_TEST(lies, "unit/demand/lies")

static Reason beyond(Arena *arena, const Config *config, const Topology *topology,
                     const Lesson *lesson) {
        const PageCounts pages = figures_pages(arena, &lesson->figures);

        return learned_beyond(arena, config, lesson->instance, topology, &pages);
}

/* A size that no host of this memory can have is not learned. */
TEST(held_to_memory) {
        const Config config = {.host.auto_memory = {.is_share = true, .hundredths = 10000}};
        const Topology *topology = host_make(arena, "sizes 1G 2M\nnode 0 total=4G free=3G\n"
                                                    "node 1 total=4G free=3G\n");
        static const struct {
                uint64_t pages;
                const char *wrong;
        } rows[] = {
                {1, NULL},
                {4096, NULL},
                {0, "it is 0 pages"},
                {INT64_MAX, "too large"},
                {UINT64_MAX, "too large"},
        };

        ARRAY_FOREACH(row, rows, ARRAY_LEN(rows)) {
                Lesson lesson = lesson_of(arena);
                json_t *json;

                lesson.figures.items[0].sizing.pages = row->pages;
                lesson_hold_to(topology, &lesson);
                assert_int_equal(lesson.wrong == NULL, row->wrong == NULL);
                if (row->wrong)
                        assert_contains(lesson.wrong, row->wrong);
                assert_int_equal(lesson_use(&lesson), row->wrong ? LESSON_UNKNOWN : LESSON_LEARN);
                if (!row->wrong)
                        assert_int_equal(beyond(arena, &config, topology, &lesson).kind,
                                         REASON_NONE);
                /* All functions that take numbers of pages act alike. */
                PageCounts counts = {}, read = {};

                *vec_push(arena, &counts) = (PageCount){2 * MIB, row->pages};
                json = page_counts_to_json(&counts);
                assert_int_equal(page_counts_from_json(arena, json, topology, &read),
                                 row->wrong ? -EINVAL : 0);
                json_decref(json);
        }
}

/* A size of the server that the host cannot have is reported, so that the gate can refuse, and not stored. */
TEST(beyond_memory) {
        const Config config = {.host.auto_memory = {.is_share = true, .hundredths = 10000}};
        const Topology *topology = host_make(arena, "sizes 1G 2M\nnode 0 total=8G free=6G\n");
        Lesson lesson = lesson_of(arena);

        lesson.figures.items[0].sizing.pages = 4097;
        lesson_hold_to(topology, &lesson);
        assert_null(lesson.wrong);
        assert_text(beyond(arena, &config, topology, &lesson).text,
                    "it is 4,097 pages of 2M (8G), and this host has 8G of memory");
        lesson.figures.items[0].sizing.pages = 4096;
        assert_int_equal(beyond(arena, &config, topology, &lesson).kind, REASON_NONE);
}
