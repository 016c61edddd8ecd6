/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Pages of a unit that were seen while it ran: their effect on the next start, what is stored, and that it is read
 * back. */

#include "demand/learned.h"
#include "support/story.h"

static const uint64_t page_bytes = 2 * MIB;

static const InstanceConfig *instance_of(Arena *arena, const char *engine, const char *seen) {
        const char *text = arena_printf(
                arena, "[Instance]\nEngine=%s\nMemory=auto\nUnit=db.service\n", engine);
        const Config *config = config_make(arena, "20-db.conf", text,
                                           "20-db.conf.d/90-learned.conf",
                                           arena_printf(arena, "[Instance]\n%s", seen), NULL);

        assert_text(problems_text(arena, &config->problems), "");
        return config_find(config, "db");
}

static const char *text_of(Arena *arena, const InstanceConfig *instance, const Seen *seen) {
        const Learned learned = {.seen = *seen};

        return learned_format(arena, instance, &learned, "a day");
}

#define SEEN(pages, base)                                                                       \
        "X-Seen=2M:" pages "\nX-SeenExact=yes\nX-SeenBase=2M:" base "\nX-SeenUnit=db.service\n" \
        "X-SeenVersion=14.5\nX-SeenSettings=0a\n"

/* The figure of BASE pages (of the server if IS_WORD) becomes this; "word": it is exact. */
static const char *applied(Arena *arena, const char *engine, const char *seen, uint64_t base,
                           bool is_word, FigureBasis basis) {
        Sizing sizing = {.page_size_bytes = page_bytes,
                         .pages = base,
                         .bytes = base * page_bytes,
                         .is_exact = is_word,
                         .source = is_word ? SIZING_WORD : SIZING_RULE};
        bool is_changed = seen_apply(arena, instance_of(arena, engine, seen), &basis, &sizing);

        assert_int_equal(is_changed, sizing.source == SIZING_SEEN);
        assert_true(sizing.bytes == sizing.pages * page_bytes);
        return arena_printf(arena, "%" PRIu64 " %s%s", sizing.pages,
                            sizing_source_name(sizing.source), sizing.is_exact ? " exact" : "");
}

/* The lines of 90-learned.conf in the words from the I-th on. */
static const char *seen_at(const StoryLine *line, size_t i) {
        Text text = text_in(line->arena);

        for (; line->words[i]; i++) {
                unsigned pages, base;

                if (sscanf(line->words[i], "seen=%u/%u", &pages, &base) == 2)
                        text_printf(&text, SEEN("%u", "%u"), pages, base);
                else if (text_equals(line->words[i], "fixed"))
                        text_add(&text, "X-Version=14.5\nX-Settings=0a\nX-Fixed=yes\n");
                else if (text_starts_with(line->words[i], "X-"))
                        text_printf(&text, "%s\n", line->words[i]);
        }
        return text_string(&text);
}

static const char *settings_at(const StoryLine *line) {
        return story_has_word(line, "settings=0b") ? "0b" : "0a";
}

PLAIN_VERB(do_applied, "applied") {
        const FigureBasis basis = {text_equals(line->words[3], "-") ? NULL : line->words[3],
                                   settings_at(line)};

        return applied(line->arena, line->words[1], seen_at(line, 4), story_number_at(line, 2),
                       story_has_word(line, "word"), basis);
}

static Seen seen_of(Arena *arena, uint64_t pages, bool is_exact) {
        Seen seen = {.unit = "db.service", .is_exact = is_exact};

        *vec_push(arena, &seen.pages) = (PageCount){page_bytes, pages};
        return seen;
}

/* A file written by hand may name no page size. */
TEST(without_page_size) {
        static const FigureBasis basis = {};
        Sizing sizing = {};

        assert_true(seen_apply(
                arena, instance_of(arena, "generic", "X-Seen=1081\nX-SeenUnit=db.service\n"),
                &basis, &sizing));
        assert_int_equal(sizing.pages, 1081);
}

PLAIN_VERB(do_kept, "kept") {
        const InstanceConfig *instance = instance_of(line->arena, line->words[1], seen_at(line, 4));
        Seen seen = seen_of(line->arena, story_number_at(line, 2), story_has_word(line, "exact"));

        seen.version = "14.5";
        seen.settings = settings_at(line);
        if (story_number_at(line, 3) > 0)
                *vec_push(line->arena, &seen.base) =
                        (PageCount){page_bytes, story_number_at(line, 3)};
        const Seen merged = seen_merge(instance, &seen);

        return arena_printf(line->arena, "%" PRIu64 "%s", merged.pages.items[0].pages,
                            merged.is_exact ? " exact" : "");
}

STORY_TEST(stories, "unit/demand/seen")

/* A count close to the grant is likely complete; for an engine that maps more as it runs, any count may be. */
TEST(likely) {
        InstanceConfig instance = *instance_of(arena, "postgresql", "");

        assert_true(seen_is_likely(&instance, page_bytes, 1));
        *vec_push(arena, &instance.learned.pages) = (PageCount){page_bytes, 1000};
        assert_true(seen_is_likely(&instance, page_bytes, 788));
        assert_false(seen_is_likely(&instance, page_bytes, 787));
        assert_true(seen_is_likely(&instance, page_bytes, 1345));
        assert_false(seen_is_likely(&instance, page_bytes, 1360));
        instance.engine = engine_find("mariadb");
        assert_true(seen_is_likely(&instance, page_bytes, 1));
}

/* As it is read back; TEXT is the content of 90-learned.conf. */
static const Config *with_seen(Arena *arena, const char *text) {
        return config_make(arena, "20-db.conf", "[Instance]\nMemory=auto\nUnit=db.service\n",
                           "20-db.conf.d/90-learned.conf", text, NULL);
}

TEST(read_back) {
        static const char *const hostile[] = {"a\nPages=1G:9999", "a\r[Host]", "\033[2J", "\xFF",
                                              ""};
        const InstanceConfig *instance = instance_of(arena, "generic", "");

        for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
                Seen seen = seen_of(arena, 540, true);

                seen.settings = hostile[i];
                const char *text = text_of(arena, instance, &seen);
                const Config *config = with_seen(arena, text);
                const InstanceConfig *again = config_find(config, "db");

                assert_text(problems_text(arena, &config->problems), "");
                assert_int_equal(page_counts_find(&again->learned.seen.pages, page_bytes), 540);
                assert_int_equal(page_counts_find(&again->learned.seen.pages, GIB), 0);
                assert_true(again->learned.seen.is_exact && seen_is_known(again));
        }
}

/* Valid lines of a broken 90-learned.conf count, and the file is written again, so that a known size stays known. */
TEST(broken) {
        static const struct {
                const char *learned, *seen;
                uint64_t learned_pages, seen_pages;
        } rows[] = {
                {"Pages=2M:100\n", "X-Seen=2M:200\nX-SeenUnit=myapp: worker #3\n", 100, 200},
                {"Pages=2M:100\nX-Version=17 ;2\n", "X-Seen=2M:200\nnonsense\n", 100, 200},
                {"Pages=2M:100\nX-Version=17\\\n", "X-Seen=2M:nonsense\n\xFF\n", 100, 0},
                {"Pages=nonsense\n", "\"\nX-Seen=2M:200\n", 0, 200},
                {"Pages=2M:0\n", "[\nX-Seen=2M:200\n", 0, 0},
                {"Pages=2M:9223372036854775807\n", "=\nX-Seen=2M:9223372036854775807\n", 0, 0},
                {"Pages=2M:100 1G:0\n", "=\nX-Seen=2M:100 1G:0\n", 0, 0},
        };

        ARRAY_FOREACH(row, rows, ARRAY_LEN(rows)) {
                const Config *config = config_make(
                        arena, "20-db.conf", "[Instance]\nEngine=mariadb\nUnit=db.service\n",
                        "20-db.conf.d/90-learned.conf",
                        arena_printf(arena, "[Instance]\n%s\n%s", row->learned, row->seen), NULL);
                const InstanceConfig *db = config_find(config, "db");
                const Learned *learned = &db->learned;
                Lesson same = {.instance = db, .version = learned->version};
                assert_null(db->refusal);
                assert_int_equal(diags_count(&config->problems, SEVERITY_ERROR), 0);
                assert_contains(problems_text(arena, &config->problems),
                                "/20-db.conf.d/90-learned");
                assert_int_equal(page_counts_find(&learned->pages, page_bytes), row->learned_pages);
                assert_int_equal(page_counts_find(&learned->seen.pages, page_bytes),
                                 row->seen_pages);
                assert_true(learned->is_broken);
                assert_int_equal(lesson_use(&same), LESSON_LEARN);
        }
}

/* The result of a lesson together with seen pages. */
TEST(lesson) {
        Lesson lesson = {.instance = instance_of(arena, "oracle", SEEN("540", "600")),
                         .wrong = "the parameters are in ASM"};
        const Figures figures = lesson_figures(arena, &lesson);

        assert_int_equal(lesson_use(&lesson), LESSON_UNKNOWN);
        assert_int_equal(figures.n, 1);
        assert_int_equal(figures.items[0].sizing.pages, 540);
        assert_int_equal(figures.items[0].sizing.source, SIZING_SEEN);
        /* An explicit size is used as it is. */
        InstanceConfig given = *lesson.instance;

        given.memory_kind = MEMORY_BYTES;
        lesson.instance = &given;
        assert_int_equal(lesson_pages(arena, &lesson).n, 0);
}

/* The formula's number is the true one. */
TEST(by_rule) {
        InstanceConfig instance = *instance_of(arena, "postgresql", SEEN("660", "600"));

        assert_int_equal(learned_by_rule(&instance, page_bytes, 1000), 1000);
        *vec_push(arena, &instance.learned.pages) = (PageCount){page_bytes, 600};
        *vec_push(arena, &instance.learned.by_rule) = (PageCount){page_bytes, 600};
        assert_int_equal(learned_by_rule(&instance, page_bytes, 1100), 1000);
        instance.learned.by_rule.items[0].pages = 700;
        assert_int_equal(learned_by_rule(&instance, page_bytes, 1100), 1100);
}

/* A figure learned before a start applies to that start; one learned while the unit ran may apply to the next. */
TEST(of_unit) {
        InstanceConfig instance = *instance_of(arena, "postgresql", "");
        Learned *learned = &instance.learned;

        *vec_push(arena, &learned->pages) = (PageCount){page_bytes, 600};
        learned->version = "14.5";
        learned->settings = "0a";
        Seen seen = seen_of_unit(&instance);
        assert_text(seen.unit, "db.service");
        assert_int_equal(page_counts_find(&seen.base, page_bytes), 600);
        assert_text(seen.version, "14.5");
        assert_text(seen.settings, "0a");
        learned->is_of_running = true;
        seen = seen_of_unit(&instance);
        assert_text(seen.unit, "db.service");
        assert_int_equal(seen.base.n, 0);
        assert_null(seen.version);
        assert_null(seen.settings);
}
