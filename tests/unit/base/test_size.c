/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Numbers as people write them, both ways. */

#include "base/size.h"
#include "support/story.h"

/* Outputs are unchanged on failure. */
enum { UNTOUCHED = 4711 };

/* ---- stories ---- */

PLAIN_VERB(do_number, "bytes duration percent u64") {
        static const struct {
                const char *name;
                int (*parse)(const char *, uint64_t *);
        } parsers[] = {{"u64", parse_u64},
                       {"bytes", parse_size_bytes},
                       {"percent", parse_percent_hundredths},
                       {"duration", parse_duration_usec}};
        const char *text = story_unescape(line->arena, line->rest);
        uint64_t value = UNTOUCHED;
        int r = -ENOSYS;

        for (size_t i = 0; i < ARRAY_LEN(parsers); i++)
                if (text_equals(line->words[0], parsers[i].name))
                        r = parsers[i].parse(text, &value);
        assert_true(r == 0 || value == UNTOUCHED);
        return r < 0 ? strerrorname_np(-r) : story_number(line, value);
}

PLAIN_VERB(do_boolean, "boolean") {
        const char *text = story_unescape(line->arena, line->rest);
        bool first = false, second = true;
        int r = parse_boolean(text, &first);

        assert_int_equal(parse_boolean(text, &second), r);
        assert_true(r < 0 ? !first && second : first == second);
        return r < 0 ? strerrorname_np(-r) : story_yes(first);
}

PLAIN_VERB(do_format, "count page-size size span") {
        static const struct {
                const char *name;
                char *(*format)(Arena *, uint64_t);
        } formats[] = {{"size", format_size},
                       {"page-size", format_page_size},
                       {"span", format_duration},
                       {"count", format_count}};
        uint64_t number;

        assert_int_equal(parse_u64(line->words[1], &number), 0);
        for (size_t i = 0; i < ARRAY_LEN(formats); i++)
                if (text_equals(line->words[0], formats[i].name))
                        return formats[i].format(line->arena, number);
        return NULL;
}

STORY_TEST(stories, "unit/base/size")

TEST(format_page_count) {
        assert_text(format_page_count(arena, 1081, 2 * MIB), "1,081 pages of 2M");
        assert_text(format_page_count(arena, 1, GIB), "1 page of 1G");
        assert_text(format_page_count(arena, 0, GIB), "0 pages of 1G");
        assert_text(format_page_count_and_size(arena, 1081, 2 * MIB), "1,081 pages of 2M (2.1G)");
        assert_text(format_page_count_and_size(arena, 1, GIB), "1 page of 1G (1G)");
}

/* Formatting and parsing again gives the same page size. */
TEST(page_size_round_trip) {
        for (unsigned shift = 12; shift < 40; shift++) {
                uint64_t bytes = 0;

                assert_int_equal(
                        parse_size_bytes(format_page_size(arena, UINT64_C(1) << shift), &bytes), 0);
                assert_true(bytes == UINT64_C(1) << shift);
        }
}

TEST(saturation) {
        assert_true(mul_saturated(3, 4) == 12);
        assert_true(mul_saturated(UINT64_MAX, 2) == UINT64_MAX);
        assert_true(mul_saturated(UINT64_C(1) << 32, UINT64_C(1) << 32) == UINT64_MAX);
        assert_true(mul_saturated(UINT64_MAX, 0) == 0);
        assert_true(add_saturated(UINT64_MAX, 1) == UINT64_MAX);
        assert_true(add_saturated(UINT64_MAX - 1, 1) == UINT64_MAX);
        assert_true(add_saturated(1, 2) == 3);
        assert_true(sub_floored(3, 5) == 0);
        assert_true(sub_floored(5, 3) == 2);
        assert_true(div_round_up(0, 2) == 0);
        assert_true(div_round_up(4, 2) == 2);
        assert_true(div_round_up(5, 2) == 3);
        assert_true(div_round_up(UINT64_MAX, 2) == UINT64_C(1) << 63); /* no overflow on the way */
}

#ifdef __SIZEOF_INT128__
TEST(products) {
        uint64_t seed = 1;

        for (unsigned i = 0; i < 100000; i++) {
                uint64_t n[3];

                for (size_t k = 0; k < ARRAY_LEN(n); k++) {
                        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                        n[k] = (seed ^ seed >> 29) >> (seed >> 58);
                }
                /* Compared with the compiler's arithmetic, with operands of all lengths. */
                uint64_t a = n[0];
                uint64_t b = n[1];
                uint64_t c = MAX(n[2], UINT64_C(1));
                unsigned __int128 product = (unsigned __int128) a * b, down = product / c;
                unsigned __int128 up = down + (product % c != 0);

                assert_true(mul_div(a, b, c) == MIN(down, (unsigned __int128) UINT64_MAX));
                assert_true(mul_div_up(a, b, c) == MIN(up, (unsigned __int128) UINT64_MAX));
        }
}
#endif

TEST(mul_div) {
        const uint64_t most = UINT64_MAX, half = UINT64_C(1) << 63;

        assert_true(mul_div(7, 3, 2) == 10 && mul_div_up(7, 3, 2) == 11);
        assert_true(mul_div(0, most, 3) == 0 && mul_div_up(0, most, 3) == 0);
        assert_true(mul_div(most, most, most) == most && mul_div_up(most, most, most) == most);
        assert_true(mul_div(most, most - 1, most) == most - 1);
        assert_true(mul_div(half, 6, 4) == half + half / 2);
        assert_true(mul_div(most, 3, 4) == half + half / 2 - 1);
        assert_true(mul_div_up(most, 3, 4) == half + half / 2);
        assert_true(mul_div(half, 2, 1) == most && mul_div(most, most, 1) == most);
}

TEST(share) {
        assert_true(share_of(1000, 1000) == 100);
        assert_true(share_of(999, 1000) == 99); /* rounded down */
        assert_true(share_of(UINT64_MAX, 10000) == UINT64_MAX);
        assert_true(share_of(UINT64_MAX, 0) == 0);
        assert_true(share_of(UINT64_C(1) << 62, 5000) == UINT64_C(1) << 61);
}

TEST(c_numbers) {
        static const struct {
                const char *string, *rest;
                uint64_t thousandfold;
        } cases[] = {
                {"12 MB", " MB", 12000}, {"0x1fGB", "GB", 31000},
                {"010", "", 8000},       {"1.5", "", 1500},
                {".5e1 ", " ", 5000},    {"1e3", "", 1000000},
                {"1e", "e", 1000},       {"0xg", "xg", 0},
                {"0.00001", "", 1},      {"9223372036854775", "", UINT64_C(9223372036854775000)},
        };
        static const char *const none[] = {"", "-1", "+1", " 1", "x", "inf", "nan", "."};
        const char *rest;
        Number number;
        uint64_t product;

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                assert_int_equal(parse_number(cases[i].string, &number, &rest), 0);
                assert_string_equal(rest, cases[i].rest);
                assert_int_equal(number_scale(&number, 1000, &product), 0);
                assert_int_equal(product, cases[i].thousandfold);
        }
        for (size_t i = 0; i < ARRAY_LEN(none); i++)
                assert_int_equal(parse_number(none[i], &number, &rest), -EINVAL);
        assert_int_equal(parse_number("99999999999999999999999", &number, &rest), 0);
        assert_int_equal(number_scale(&number, 1, &product), -ERANGE);
        assert_int_equal(parse_number("18446744073709551615", &number, &rest), 0);
        assert_int_equal(number_scale(&number, 1, &product), 0);
        assert_int_equal(number_scale(&number, 2, &product), -ERANGE);
}
