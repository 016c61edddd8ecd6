/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "support/testing.h"

#define UTF8(literal) text_is_utf8((literal), sizeof(literal) - 1)

TEST(utf8_well_formed) {
        assert_true(UTF8(""));
        assert_true(UTF8("plain\n\t\x7f"));
        assert_true(UTF8("\xC2\x80"));         /* the least of two bytes */
        assert_true(UTF8("\xDF\xBF"));         /* the greatest */
        assert_true(UTF8("\xE0\xA0\x80"));     /* the least of three */
        assert_true(UTF8("\xED\x9F\xBF"));     /* the last before the surrogates */
        assert_true(UTF8("\xEE\x80\x80"));     /* the first after them */
        assert_true(UTF8("\xEF\xBF\xBF"));     /* U+FFFF */
        assert_true(UTF8("\xF0\x90\x80\x80")); /* the least of four */
        assert_true(UTF8("\xF4\x8F\xBF\xBF")); /* U+10FFFF */
}

TEST(utf8_malformed) {
        assert_false(UTF8("\0"));
        assert_false(UTF8("a\0b"));
        assert_false(UTF8("\x80")); /* a continuation alone */
        assert_false(UTF8("\x9F\x80"));
        assert_false(UTF8("\xC0\x80"));         /* overlong NUL */
        assert_false(UTF8("\xC1\xBF"));         /* overlong */
        assert_false(UTF8("\xE0\x9F\xBF"));     /* overlong */
        assert_false(UTF8("\xED\xA0\x80"));     /* a surrogate */
        assert_false(UTF8("\xED\xBF\xBF"));     /* a surrogate */
        assert_false(UTF8("\xF0\x8F\xBF\xBF")); /* overlong */
        assert_false(UTF8("\xF4\x90\x80\x80")); /* beyond U+10FFFF */
        assert_false(UTF8("\xF5\x80\x80\x80"));
        assert_false(UTF8("\xFF"));
        assert_false(UTF8("\xC3"));         /* cut off */
        assert_false(UTF8("\xE2\x82"));     /* cut off */
        assert_false(UTF8("\xF0\x90\x80")); /* cut off */
        assert_false(UTF8("\xC3("));        /* no continuation */
        assert_false(UTF8("\xE2\x82("));
        assert_false(UTF8("\xF0\x90\x80("));
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

TEST(width) {
        assert_int_equal(text_width(""), 0);
        assert_int_equal(text_width("abc"), 3);
        assert_int_equal(text_width("\xC3\xA4\xE2\x97\x8F\xF0\x9F\x98\x80"), 3);
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

static char *wrap(Arena *arena, const char *paragraph, size_t width) {
        Text text = text_in(arena);

        text_add_wrapped(&text, "* ", "  ", paragraph, width);
        return text.string;
}

TEST(wrap) {
        assert_text(wrap(arena, "one two three", 80), "* one two three\n");
        assert_text(wrap(arena, "one two three", 9), "* one two\n  three\n");
        assert_text(wrap(arena, "one two three", 8), "* one\n  two\n  three\n");
        assert_text(wrap(arena, "one  two", 80), "* one two\n");
        assert_text(wrap(arena, "", 80), "* \n");
        /* A word that is too long is on a line of its own, and never cut. */
        assert_text(wrap(arena, "a incomprehensibilities b", 8),
                    "* a\n  incomprehensibilities\n  b\n");
        assert_text(wrap(arena, "incomprehensibilities b", 8), "* incomprehensibilities\n  b\n");
        /* Columns are counted, not bytes. */
        assert_text(wrap(arena, "\xC3\xA4\xC3\xA4\xC3\xA4 \xC3\xB6\xC3\xB6", 8),
                    "* \xC3\xA4\xC3\xA4\xC3\xA4 \xC3\xB6\xC3\xB6\n");
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

TEST(printable) {
        assert_string_equal(text_printable(arena, "a\tb\nc\033[2J\177"), "a?b?c?[2J?");
        assert_string_equal(text_printable(arena, "Größe"), "Größe");
        assert_string_equal(text_printable(arena, "\xC2\x9B"
                                                  "2J"),
                            "??2J"); /* CSI as one character */
        assert_string_equal(text_printable(arena, "ab\xFF\xC3\xA4"), "ab???");
        /* Characters that change the direction of text, and invisible ones. */
        assert_string_equal(text_printable(arena, "a\xE2\x80\xAE\xD8\x9C"
                                                  "b\xF3\xA0\x81\x81\xE2\x81\xA6\xEF\xBB\xBF"),
                            "a?????b??????????");
        assert_string_equal(text_printable(arena, "\xE2\x80\x90\xD8\xA7\xF0\x9F\x98\x80"),
                            "\xE2\x80\x90\xD8\xA7\xF0\x9F\x98\x80");
}

TEST(excerpt) {
        assert_string_equal(text_excerpt(arena, "12345678", 8), "12345678");
        assert_string_equal(text_excerpt(arena, "123456789", 8), "12345...");
        assert_string_equal(text_excerpt(arena, "1234ä6789", 8), "1234...");
        assert_string_equal(text_excerpt(arena, "1\n3456789", 8), "1?345...");
}

TEST(quote) {
        char *lengthy = arena_alloc(arena, 8193);

        assert_string_equal(text_quote(arena, "its owner says", "no\nWhat to do: run \"rm\""),
                            "its owner says: \"no?What to do: run 'rm'\"");
        memset(lengthy, 'x', 8192);
        assert_int_equal(strlen(text_quote(arena, "a", lengthy)), QUOTE_BYTES_MAX + 5);
}

TEST(strip) {
        assert_text(text_strip(arena, "  a b\t\r\n"), "a b");
        assert_text(text_strip(arena, " \t"), "");
        assert_text(text_strip(arena, ""), "");
}

TEST(words) {
        const char *rest = ", a ,b,,c ";

        assert_text(text_next_word(arena, &rest, ", "), "a");
        assert_text(text_next_word(arena, &rest, ", "), "b");
        assert_text(text_next_word(arena, &rest, ", "), "c");
        assert_null(text_next_word(arena, &rest, ", "));
        assert_null(text_next_word(arena, &rest, ", "));
}

TEST(has_word) {
        assert_true(text_has_word("root=/dev/sda1 hugeplan=off quiet", "hugeplan=off"));
        assert_true(text_has_word("root=/dev/sda1 hugeplan=off quiet", "quiet"));
        assert_false(text_has_word("root=/dev/sda1 hugeplan=off quiet", "hugeplan"));
        assert_false(text_has_word("root=/dev/sda1 hugeplan=off quiet", "qui"));
}

TEST(base_name) {
        assert_text(text_base_name("/usr/bin/postgres"), "postgres");
        assert_text(text_base_name("postgres"), "postgres");
        assert_text(text_base_name("/usr/bin/"), "");
        assert_text(text_base_name(""), "");
}

TEST(distance) {
        assert_int_equal(text_distance("", ""), 0);
        assert_int_equal(text_distance("main", "main"), 0);
        assert_int_equal(text_distance("man", "main"), 1);
        assert_int_equal(text_distance("es01", "es10"), 2);
        assert_int_equal(text_distance("", "abc"), 3);
        assert_int_equal(text_distance("abc", ""), 3);
        char *longest = arena_alloc(arena, 257);

        memset(longest, 'x', 255);
        assert_int_equal(text_distance(longest, "x"), 254);
        assert_int_equal(text_distance("x", longest), 254);
        longest[255] = 'x';
        assert_true(text_distance(longest, "x") == SIZE_MAX);
        assert_true(text_distance("x", longest) == SIZE_MAX);
}

static const char *meant(const char *word) {
        static const char *const names[] = {"status", "plan", "wait", "size", "check"};
        NearMiss miss = {word, 3};

        ARRAY_FOREACH(name, names, ARRAY_LEN(names))
                near_miss_try(&miss, *name);
        return miss.name;
}

TEST(near_misses) {
        assert_string_equal(meant("statsu"), "status");
        assert_string_equal(meant("plna"), "plan");
        assert_string_equal(meant("waite"), "wait");
        assert_null(meant("stop"));
        assert_null(meant("help"));
        assert_null(meant("es"));
        assert_null(meant(""));
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
