/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "support/story.h"

/* ---- stories ---- */

PLAIN_VERB(do_utf8, "utf8") {
        const char *text = story_text(line, 0);

        return story_yes(text_is_utf8(text, strlen(text)));
}

PLAIN_VERB(do_width, "width") {
        return story_number(line, text_width(story_text(line, 0)));
}

/* WIDTH TEXT: as a paragraph. */
PLAIN_VERB(do_wrap, "wrap") {
        Text text = text_in(line->arena);

        text_add_wrapped(&text, "* ", "  ", story_text(line, 1), story_number_at(line, 1));
        return text.string;
}

PLAIN_VERB(do_printable, "printable") {
        return text_printable(line->arena, story_text(line, 0));
}

PLAIN_VERB(do_excerpt, "excerpt") {
        return text_excerpt(line->arena, story_text(line, 1), story_number_at(line, 1));
}

PLAIN_VERB(do_strip, "strip") {
        return text_strip(line->arena, story_text(line, 0));
}

/* WORD TEXT */
PLAIN_VERB(do_has_word, "has-word") {
        return story_yes(text_has_word(story_text(line, 1), line->words[1]));
}

PLAIN_VERB(do_base_name, "base-name") {
        return text_base_name(line->rest);
}

/* A B, "-": no text. */
PLAIN_VERB(do_distance, "distance") {
        const char *a = text_equals(line->words[1], "-") ? "" : line->words[1];
        const char *b = text_equals(line->words[2], "-") ? "" : line->words[2];

        return story_number(line, text_distance(a, b));
}

/* The name that a wrong word means. */
PLAIN_VERB(do_meant, "meant") {
        static const char *const names[] = {"status", "plan", "wait", "size", "check"};
        NearMiss miss = {line->rest, 3};

        ARRAY_FOREACH(name, names, ARRAY_LEN(names))
                near_miss_try(&miss, *name);
        return miss.name;
}

STORY_TEST(stories, "unit/base/text")

/* ---- what no story can say ---- */

TEST(utf8_with_nul) {
        assert_false(text_is_utf8("\0", 1));
        assert_false(text_is_utf8("a\0b", 3));
}

/* A sequence at the end of an allocation is not read beyond it (a sanitizer checks). */
TEST(utf8_bounds) {
        static const char sequence[] = "\xF4\x8F\xBF\xBF";

        for (size_t n = 1; n <= 4; n++) {
                char *exact = malloc(n);

                memcpy(exact, sequence, n);
                assert_int_equal(text_is_utf8(exact, n), n == 4);
                free(exact);
        }
}

TEST(growing) {
        Text text = text_in(arena);

        assert_text(text_string(&text), "");
        for (int i = 0; i < 1000; i++)
                text_printf(&text, "%d,", i % 10);
        assert_int_equal(text.length, 2000);
        assert_int_equal(strlen(text.string), 2000);
        for (int i = 0; i < 1000; i++)
                assert_int_equal(text.string[2 * i], '0' + i % 10);
        text_add_n(&text, "abcdef", 3);
        text_repeat(&text, '-', 2);
        text_repeat(&text, '-', 0);
        assert_text(text.string + 2000, "abc--");
}

TEST(questions) {
        assert_true(text_equals("a", "a"));
        assert_false(text_equals("a", "b"));
        assert_true(text_equals(NULL, NULL));
        assert_false(text_equals(NULL, ""));
        assert_false(text_equals("", NULL));
        assert_true(text_starts_with("abc", "ab"));
        assert_true(text_starts_with("abc", ""));
        assert_false(text_starts_with("ab", "abc"));
        assert_true(text_ends_with("a.conf", ".conf"));
        assert_true(text_ends_with(".conf", ".conf"));
        assert_false(text_ends_with("conf", ".conf"));
        assert_false(text_ends_with("a.conf~", ".conf"));
}

TEST(quote) {
        char *lengthy = arena_alloc(arena, 8193);

        assert_string_equal(text_quote(arena, "its owner says", "no\nWhat to do: run \"rm\""),
                            "its owner says: \"no?What to do: run 'rm'\"");
        memset(lengthy, 'x', 8192);
        assert_int_equal(strlen(text_quote(arena, "a", lengthy)), QUOTE_BYTES_MAX + 5);
}

TEST(words) {
        const char *rest = ", a ,b,,c ";

        assert_text(text_next_word(arena, &rest, ", "), "a");
        assert_text(text_next_word(arena, &rest, ", "), "b");
        assert_text(text_next_word(arena, &rest, ", "), "c");
        assert_null(text_next_word(arena, &rest, ", "));
        assert_null(text_next_word(arena, &rest, ", "));
}

/* Words that are too long are far from all others. */
TEST(distance) {
        char *longest = arena_alloc(arena, 257);

        memset(longest, 'x', 255);
        assert_int_equal(text_distance(longest, "x"), 254);
        assert_int_equal(text_distance("x", longest), 254);
        longest[255] = 'x';
        assert_true(text_distance(longest, "x") == SIZE_MAX);
        assert_true(text_distance("x", longest) == SIZE_MAX);
}

TEST(lists) {
        static const char *const names[] = {NULL, "auto", "keep"};
        Text text = text_in(arena);

        text_add_word(&text, NULL);
        text_add_word(&text, "one");
        text_add_word(&text, "two");
        assert_string_equal(text_string(&text), "one two");
        assert_int_equal(text_index(names, 3, "keep"), 2);
        assert_int_equal(text_index(names, 3, NULL), 0);
        assert_int_equal(text_index(names, 3, "never"), -EINVAL);
}
