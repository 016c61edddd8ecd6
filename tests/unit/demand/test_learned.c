/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The result of a lesson and its file. The file is read back as a drop-in, whatever text is in the owner's settings. */

#include "config/config.h"
#include "demand/figures.h"
#include "demand/learned.h"
#include "support/gatherer.h"
#include "support/sources.h"
#include "support/story.h"

static const uint64_t page_bytes = 2 * MIB;

/* An instance with this content of 90-learned.conf (NULL: none). */
static const InstanceConfig *instance_of(Arena *arena, const char *learned) {
        const char *text = "[Instance]\nEngine=mariadb\nMemory=auto\n";
        const Config *config =
                learned ? config_make(arena, "20-db.conf", text, "20-db.conf.d/90-learned.conf",
                                      arena_printf(arena, "[Instance]\n%s", learned), NULL)
                        : config_make(arena, "20-db.conf", text, NULL);

        assert_text(problems_text(arena, &config->problems), "");
        return config_find(config, "db");
}

static Figure figure_of(uint64_t size_bytes, uint64_t pages) {
        return (Figure){.instance = "db",
                        .sizing = {.page_size_bytes = size_bytes,
                                   .pages = pages,
                                   .bytes = size_bytes * pages}};
}

/* By the formula, and by the server if that is not 0. */
static Lesson lesson_of(Arena *arena, const InstanceConfig *instance, uint64_t by_rule,
                        uint64_t pages) {
        Lesson lesson = {.instance = instance, .version = "15.18", .is_exact = pages > 0};

        *vec_push(arena, &lesson.by_rule) = figure_of(page_bytes, by_rule);
        *vec_push(arena, &lesson.figures) = figure_of(page_bytes, pages ? pages : by_rule);
        return lesson;
}

/* ---- learned.stories ---- */

static const char exact[] = "Pages=2M:1081\nX-Version=15.18\nX-Exact=yes\nX-Rule=2M:1113\n";

/* LEARNED BY-RULE PAGES [unasked] [VERSION]: the lesson of a server with these pages, which hangs if it is not asked;
 * LEARNED: the last lesson, "exact" or "none". */
static Lesson lesson_at(const StoryLine *line) {
        const char *learned = line->words[1];
        Lesson lesson =
                lesson_of(line->arena,
                          instance_of(line->arena, text_equals(learned, "none") ? NULL
                                                   : text_equals(learned, "exact")
                                                           ? exact
                                                           : story_unescape(line->arena, learned)),
                          story_number_at(line, 2), story_number_at(line, 3));

        if (line->words[4])
                lesson.unasked = "it hangs";
        if (line->words[4] && line->words[5])
                lesson.version = line->words[5];
        return lesson;
}

static const char *const uses[] = {[LESSON_SAME] = "same",
                                   [LESSON_LEARN] = "learn",
                                   [LESSON_KEEP] = "keep",
                                   [LESSON_UNKNOWN] = "unknown"};

PLAIN_VERB(do_use, "use") {
        const Lesson lesson = lesson_at(line);

        return uses[lesson_use(&lesson)];
}

/* The size by the larger figure; of the last lesson's, with a remark. */
PLAIN_VERB(do_larger, "larger") {
        Lesson lesson = lesson_at(line);

        lesson_take_larger(line->arena, &lesson);
        const Sizing *sizing = &lesson.figures.items[0].sizing;

        assert_int_equal(sizing->bytes, sizing->pages * page_bytes);
        assert_int_equal(sizing->caveat != NULL, sizing->source == SIZING_LEARNED);
        assert_int_equal(lesson.by_rule.items[0].sizing.pages, story_number_at(line, 2));
        return arena_printf(line->arena, "%" PRIu64 "%s", sizing->pages,
                            sizing->caveat ? " learned" : "");
}

STORY_TEST(stories, "unit/demand/learned")

/* ---- files and figures ---- */

TEST(nothing_found) {
        Lesson lesson = {.instance = instance_of(arena, exact), .wrong = "not mounted"};
        PageCounts pages = lesson_pages(arena, &lesson);

        assert_int_equal(lesson_use(&lesson), LESSON_KEEP);
        assert_text(page_counts_format(arena, &pages), "1,081 pages of 2M");
        lesson.instance = instance_of(arena, NULL);
        assert_int_equal(lesson_use(&lesson), LESSON_UNKNOWN);
        assert_int_equal(lesson_pages(arena, &lesson).n, 0);
}

TEST(counts) {
        Lesson lesson = lesson_of(arena, instance_of(arena, NULL), 1113, 1081);

        *vec_push(arena, &lesson.figures) = figure_of(GIB, 1);
        PageCounts pages = lesson_pages(arena, &lesson);

        assert_text(page_counts_format(arena, &pages), "1,081 pages of 2M, 1 page of 1G");
        assert_text(page_counts_format(arena, &(PageCounts){}), "");
}

TEST(path) {
        InstanceConfig instance = {.name = "x", .file = "/usr/lib/hugeplan.d/20-pg.conf"};

        assert_text(learned_path(arena, &instance), "/etc/hugeplan.d/20-pg.conf.d/90-learned.conf");
}

static const char *text_of(Arena *arena, const Lesson *lesson) {
        const Learned learned = learned_of(arena, lesson);

        return learned_format(arena, lesson->instance, &learned, "2026-01-02 03:04 UTC");
}

TEST(text) {
        Gathered gathered = {};
        Lesson lesson = lesson_of(arena, instance_of(arena, NULL), 1113, 1081);

        lesson.gathered = &gathered;
        assert_text(text_of(arena, &lesson),
                    "# db takes 1,081 pages of 2M: exact, MariaDB 15.18 says so.\n"
                    "#\n"
                    "# Written by hugeplan " HUGEPLAN_VERSION
                    " on 2026-01-02 03:04 UTC, and again when it has changed. Early "
                    "boot reserves\n"
                    "# this size; see LEARNED SIZES in hugeplan.d(5). To forget it, "
                    "remove this file; to set a\n"
                    "# size of your own, write Memory= or Pages= in "
                    "/etc/hugeplan.d/20-db.conf.\n"
                    "\n"
                    "[Instance]\n"
                    "Pages=2M:1081\n"
                    "X-Version=15.18\n"
                    "X-Exact=yes\n"
                    "X-Rule=2M:1113\n"
                    "X-Settings=0000000000000000\n"); /* none of them is MariaDB's */
}

/* Settings with the same result by the formula may take a page more. */
TEST(other_settings) {
        Gathered gathered = {};
        Lesson lesson = lesson_of(arena, instance_of(arena, NULL), 1113, 0);

        settings_add(arena, &gathered.settings, "key_buffer_size", "1M", "/etc/my.cnf:3");
        lesson.gathered = &gathered;
        const char *text = text_of(arena, &lesson);
        const char *keys = strstr(text, "\n[Instance]\n") + strlen("\n[Instance]\n");

        assert_contains(keys, "\nX-Settings=");
        lesson.instance = instance_of(arena, keys);
        assert_int_equal(lesson_use(&lesson), LESSON_SAME);
        gathered.settings.items[0].value = "2M";
        assert_int_equal(lesson_use(&lesson), LESSON_LEARN);
}

/* A figure learned while the unit ran is replaced before the next start, but not vice versa. */
TEST(running) {
        Lesson lesson = lesson_of(arena, instance_of(arena, NULL), 1113, 0);

        lesson.is_of_running = true;
        const char *text = text_of(arena, &lesson);
        const char *keys = strstr(text, "\n[Instance]\n") + strlen("\n[Instance]\n");

        assert_contains(keys, "\nX-Running=yes\n");
        lesson.instance = instance_of(arena, keys);
        assert_true(lesson.instance->learned.is_of_running);
        assert_int_equal(lesson_use(&lesson), LESSON_SAME);
        lesson.is_of_running = false;
        assert_int_equal(lesson_use(&lesson), LESSON_LEARN);
        text = text_of(arena, &lesson);
        keys = strstr(text, "\n[Instance]\n") + strlen("\n[Instance]\n");
        lesson.instance = instance_of(arena, keys);
        assert_false(lesson.instance->learned.is_of_running);
        lesson.is_of_running = true;
        assert_int_equal(lesson_use(&lesson), LESSON_SAME);
}

/* The file contains what is known after the next boot. */
static void assert_read_back(Arena *arena, const Lesson *lesson) {
        const char *text = text_of(arena, lesson);
        const Config *config = config_make(arena, "20-db.conf", "[Instance]\nEngine=mariadb\n",
                                           "20-db.conf.d/90-learned.conf", text, NULL);
        Lesson again = *lesson;

        assert_text(problems_text(arena, &config->problems), "");
        again.instance = config_find(config, "db");
        again.unasked = NULL;
        assert_int_equal(lesson_use(&again), LESSON_SAME);
        /* Comments, one section, at most six keys, and nothing else. */
        for (const char *rest = text, *line; (line = text_next_word(arena, &rest, "\n"));)
                assert_true(*line == '#' || text_equals(line, "[Instance]") ||
                            text_starts_with(line, "Pages=2M:") ||
                            text_starts_with(line, "X-Version=") ||
                            text_starts_with(line, "X-Exact=") ||
                            text_starts_with(line, "X-Rule=") ||
                            text_starts_with(line, "X-Settings="));
}

TEST(read_back) {
        static const char *const hostile[] = {
                "a\nPages=1G:9999", "a\r[Host]\rKeepFree=0", "\033[2J\a",
                "\xFF\xFE\xC2\x9B", "]]\v[Instance]",        "",
        };
        Lesson lesson = lesson_of(arena, instance_of(arena, NULL), 1113, 1081);

        assert_read_back(arena, &lesson);
        lesson.version = NULL;
        assert_read_back(arena, &lesson);
        for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
                Gathered gathered = {};
                char *lengthy = arena_alloc(arena, 5001);

                settings_add(arena, &gathered.settings, "shared_buffers", hostile[i], hostile[i]);
                settings_add(arena, &gathered.settings, hostile[i], "1",
                             memset(lengthy, 'x', 5000));
                lesson.gathered = &gathered;
                lesson.version = *hostile[i] ? hostile[i] : NULL;
                lesson.figures.items[0].sizing.caveat = hostile[i];
                assert_read_back(arena, &lesson);
        }
}

/* For an engine that reserves nothing: the version, and its preference. */
TEST(version_only) {
        const Config *config = config_line(arena, "m Engine=mongodb");
        Lesson lesson = {.instance = config_find(config, "m"), .version = "8.0.4"};

        assert_true(instance_is_learning(lesson.instance));
        assert_int_equal(lesson_use(&lesson), LESSON_LEARN);
        const char *text = text_of(arena, &lesson);

        assert_contains(text, "# m is MongoDB 8.0.4.\n");
        assert_contains(text, "\n[Instance]\nTransparentHugePages=always\nX-Version=8.0.4\n");
        config = config_make(arena, "m.conf", "[Instance]\nEngine=mongodb\n",
                             "m.conf.d/90-learned.conf", text, NULL);
        assert_text(problems_text(arena, &config->problems), "");
        lesson.instance = config_find(config, "m");
        assert_int_equal(lesson_use(&lesson), LESSON_SAME);
        lesson.version = "7.0.1";
        assert_int_equal(lesson_use(&lesson), LESSON_LEARN);
        assert_null(strstr(text_of(arena, &lesson), "TransparentHugePages="));
        lesson.wrong = "it is gone";
        assert_int_equal(lesson_use(&lesson), LESSON_KEEP);
}

/* A figure learned for one page size does not make the other one's formula run again. */
TEST(partly_learned) {
        const Sources *sources =
                TEST_SOURCES(arena, {"/etc/my.cnf", "[mysqld]\nlarge_pages\n"
                                                    "innodb_buffer_pool_size=1G\n"});
        const SourcesGatherer here = figures_gatherer(sources);
        const Gatherer *gatherer = &here.gatherer;
        const Topology *topology = host_make(arena, "sizes 1G 2M\nnode 0 total=16G free=15G\n");
        const char *file = "[Instance]\nEngine=mariadb\nPageSize=1G 2M\n";
        const char *learned = "20-db.conf.d/90-learned.conf";
        const Config *config =
                config_make(arena, "20-db.conf", file, learned, "[Instance]\nPages=2M:700\n", NULL);
        Figures figures = figures_derive(arena, config, topology, gatherer, FIGURES_UNLEARNED);

        assert_int_equal(figures.n, 1);
        assert_null(figures.items[0].wrong);
        assert_int_equal(figures.items[0].sizing.page_size_bytes, GIB);
        config = config_make(arena, "20-db.conf", file, learned, "[Instance]\nPages=2M:700 1G:2\n",
                             NULL);
        assert_int_equal(figures_derive(arena, config, topology, gatherer, FIGURES_UNLEARNED).n, 0);
        assert_int_equal(figures_derive(arena, config, topology, gatherer, FIGURES_ALL).n, 2);
        /* A page size that this host does not have cannot be learned. */
        topology = host_make(arena, "sizes 2M\nnode 0 total=16G free=15G\n");
        config =
                config_make(arena, "20-db.conf", file, learned, "[Instance]\nPages=2M:700\n", NULL);
        assert_int_equal(figures_derive(arena, config, topology, gatherer, FIGURES_UNLEARNED).n, 0);
}

/* VERSION KEYS: whether an instance with an explicit size learns the version, and whether it then needs the group. */
PLAIN_VERB(do_given, "given") {
        Arena *arena = line->arena;
        const char *file = arena_printf(arena, "[Instance]\n%s", story_lines(line, 2));
        const Lesson lesson = {
                .instance = config_find(config_make(arena, "m.conf", file, NULL), "m"),
                .version = line->words[1]};
        const Config *config = config_make(arena, "m.conf", file, "m.conf.d/90-learned.conf",
                                           text_of(arena, &lesson), NULL);

        assert_false(instance_learns_size(lesson.instance));
        assert_int_equal(lesson_use(&lesson), LESSON_LEARN);
        assert_text(problems_text(arena, &config->problems), "");
        return arena_printf(
                arena, "%s, %s", instance_is_learning(lesson.instance) ? "learns" : "knows",
                instance_needs_group(config_find(config, "m")) ? "needs the group" : "no group");
}
