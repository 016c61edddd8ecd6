/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Drop-ins that hugeplan writes are read back. With any bytes in owners' settings, versions and paths, the drop-in has no
 * problems, each value is read as it was written, and comments stay comments. */

#include "config/config_value.h"
#include "demand/learned.h"
#include "property/random.h"
#include "support/testing.h"

enum { WORDS_BYTES_MAX = 300 };

/* Any bytes but NUL; most of them have a meaning in files or terminals. */
static char *random_words(Arena *arena, Random *random) {
        static const char *const pieces[] = {
                " #",
                " ;",
                "\t#",
                "\\",
                "\"",
                "'",
                "=",
                "[Instance]",
                "\n",
                "\r",
                "\nPages=2M:9\n",
                " ",
                "\033[2J",
                "\xE2\x80\xAE",
                "\xEF\xBB\xBF",
                "\xC3\xA4",
                "\xFF",
                "%",
                "$",
                "a",
                "/",
        };
        Text text = text_in(arena);

        for (uint64_t n = random_between(random, 0, 12); n > 0; n--) {
                char any[2] = {(char) random_between(random, 1, 255)};

                text_add(&text, random_chance(random, 80)
                                        ? pieces[random_bits(random) % ARRAY_LEN(pieces)]
                                        : any);
        }
        if (random_chance(random, 10))
                text_repeat(&text, 'x', random_between(random, 1, WORDS_BYTES_MAX));
        return arena_strdup(arena, text_string(&text));
}

static const InstanceConfig *read_back(Arena *arena, const char *name, const char *text) {
        const Config *config = config_make(
                arena, "20-db.conf",
                "[Instance]\nEngine=postgresql\nMemory=auto\nUnit=db.service\n", name, text, NULL);

        assert_text(problems_text(arena, &config->problems), "");
        assert_int_equal(config->n_instances, 1);
        return &config->instances[0];
}

static void check_learned(Arena *arena, Random *random, const InstanceConfig *instance) {
        Gathered gathered = {.problems = diags_in(arena)};
        Lesson lesson = {.instance = instance,
                         .gathered = &gathered,
                         .version = random_words(arena, random)};
        Figure figure = {.gathered = &gathered,
                         .sizing = {.page_size_bytes = 2 * MIB,
                                    .pages = 1081,
                                    .bytes = 1081 * 2 * MIB,
                                    .caveat = random_words(arena, random)}};

        for (size_t i = 0; i < 3; i++)
                settings_add(arena, &gathered.settings, random_words(arena, random),
                             random_words(arena, random), random_words(arena, random));
        *vec_push(arena, &lesson.figures) = figure;
        *vec_push(arena, &lesson.by_rule) = figure;
        const Learned learned = learned_of(arena, &lesson);
        const InstanceConfig *again = read_back(arena, "20-db.conf.d/90-learned.conf",
                                                learned_format(arena, instance, &learned, "a day"));

        assert_int_equal(page_counts_find(&again->learned.pages, 2 * MIB), 1081);
        assert_text(again->learned.version, text_excerpt(arena, lesson.version, 40));
        lesson.instance = again;
        assert_int_equal(lesson_use(&lesson), LESSON_SAME);
}

static void check_seen(Arena *arena, Random *random, const InstanceConfig *instance) {
        Seen seen = {.unit = random_words(arena, random),
                     .version = random_words(arena, random),
                     .settings = random_words(arena, random),
                     .is_exact = random_chance(random, 50)};

        *vec_push(arena, &seen.pages) = (PageCount){2 * MIB, 540};
        Learned learned = {.seen = seen};
        const InstanceConfig *again = read_back(arena, "20-db.conf.d/90-learned.conf",
                                                learned_format(arena, instance, &learned, "a day"));
        Seen printable = seen;

        printable.unit = text_printable(arena, seen.unit);
        printable.version = text_printable(arena, seen.version);
        printable.settings = text_printable(arena, seen.settings);
        assert_true(seen_is_same(&again->learned.seen, &printable));
}

static void check(uint64_t seed) {
        Arena *arena = arena_new();
        Random random = {seed};
        const InstanceConfig *instance = read_back(arena, "20-db.conf.d/1.conf", "");

        const char *path = arena_printf(arena, "/%s", random_words(arena, &random));
        Text text = text_in(arena);

        config_add_comment(&text, "%s", random_words(arena, &random));
        text_add(&text, "[Instance]\n");
        config_add_comment(&text, "at %s.", random_words(arena, &random));
        config_add_value(&text, "DataDirectory", path);
        assert_text(read_back(arena, "20-db.conf.d/1.conf", text.string)->data_directory,
                    text_printable(arena, path));
        check_learned(arena, &random, instance);
        check_seen(arena, &random, instance);
        arena_free(arena);
}

TEST(written_is_read) {
        random_for_each_seed(2000, check);
}
