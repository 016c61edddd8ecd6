/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Numbers as people write them, both ways. */

#include "base/size.h"
#include "support/testing.h"

/* What a parser must leave alone when it fails. */
enum { UNTOUCHED = 4711 };

typedef struct NumberCase {
        const char *text;
        int r;
        uint64_t value;
} NumberCase;

static void check_numbers(int (*parse)(const char *, uint64_t *), const NumberCase *cases,
                          size_t n) {
        for (size_t i = 0; i < n; i++) {
                uint64_t value = UNTOUCHED;
                int r = parse(cases[i].text, &value);

                if (r != cases[i].r)
                        fail_msg("'%s': %d, not %d", cases[i].text, r, cases[i].r);
                if (value != (r < 0 ? UNTOUCHED : cases[i].value))
                        fail_msg("'%s': %" PRIu64, cases[i].text, value);
        }
}

TEST(u64) {
        static const NumberCase cases[] = {
                {"0", 0, 0},
                {"007", 0, 7},
                {"18446744073709551615", 0, UINT64_MAX},
                {"18446744073709551616", -ERANGE, 0},
                {"99999999999999999999", -ERANGE, 0},
                {"", -EINVAL, 0},
                {" 1", -EINVAL, 0},
                {"1 ", -EINVAL, 0},
                {"+1", -EINVAL, 0},
                {"-1", -EINVAL, 0},
                {"0x10", -EINVAL, 0},
                {"1.0", -EINVAL, 0},
                {"12a", -EINVAL, 0},
        };

        check_numbers(parse_u64, cases, ARRAY_LEN(cases));
}

TEST(bytes) {
        static const NumberCase cases[] = {
                {"0", 0, 0},
                {"17", 0, 17},
                {"17B", 0, 17},
                {"1K", 0, KIB},
                {"1k", 0, KIB},
                {"1KB", 0, KIB},
                {"1KiB", 0, KIB},
                {"2M", 0, 2 * MIB},
                {"8G", 0, 8 * GIB},
                {"1.5T", 0, TIB + 512 * GIB},
                {"0.5K", 0, 512},
                {"1.25M", 0, MIB + MIB / 4},
                {"0.000001K", 0, 0}, /* below a byte */
                {"15E", 0, UINT64_C(15) << 60},
                {"1P", 0, UINT64_C(1) << 50},
                {"16E", -ERANGE, 0},
                {"15.9999E", 0, 18446628781559090931u},
                {"18446744073709551615", 0, UINT64_MAX},
                {"18446744073709551616", -ERANGE, 0},
                {"", -EINVAL, 0},
                {"G", -EINVAL, 0},
                {"1.5", -EINVAL, 0},  /* half a byte */
                {"1.5B", -EINVAL, 0}, /* likewise */
                {"1.G", -EINVAL, 0},
                {".5G", -EINVAL, 0},
                {"1.0000001G", -EINVAL, 0},
                {"5banana", -EINVAL, 0},
                {"8 G", -EINVAL, 0},
                {"8Gi", -EINVAL, 0},
                {"8GG", -EINVAL, 0},
                {"8iB", -EINVAL, 0},
                {"-8G", -EINVAL, 0},
                {"8G ", -EINVAL, 0},
                {"10%", -EINVAL, 0},
        };

        check_numbers(parse_size_bytes, cases, ARRAY_LEN(cases));
}

TEST(percent) {
        static const NumberCase cases[] = {
                {"0%", 0, 0},          {"25%", 0, 2500},        {"12.5%", 0, 1250},
                {"0.01%", 0, 1},       {"100%", 0, 10000},      {"100.00%", 0, 10000},
                {"101%", -ERANGE, 0},  {"100.01%", -ERANGE, 0}, {"0.001%", -EINVAL, 0},
                {"25", -EINVAL, 0},    {"%", -EINVAL, 0},       {"25%%", -EINVAL, 0},
                {"25 %", -EINVAL, 0},  {"-5%", -EINVAL, 0},     {"", -EINVAL, 0},
                {"1000%", -ERANGE, 0},
        };

        check_numbers(parse_percent_hundredths, cases, ARRAY_LEN(cases));
}

TEST(duration) {
        static const NumberCase cases[] = {
                {"90", 0, 90 * USEC_PER_SEC},
                {"90s", 0, 90 * USEC_PER_SEC},
                {"1.5s", 0, 1500 * USEC_PER_MSEC},
                {"2min 30s", 0, 150 * USEC_PER_SEC},
                {"2min30s", 0, 150 * USEC_PER_SEC},
                {"5 min", 0, 300 * USEC_PER_SEC},
                {"1h", 0, 3600 * USEC_PER_SEC},
                {"2d", 0, 172800 * USEC_PER_SEC},
                {"3m", 0, 180 * USEC_PER_SEC},
                {"17us", 0, 17},
                {"100ms", 0, 100000},
                {"infinity", 0, UINT64_MAX},
                {"0", 0, 0},
                {"", -EINVAL, 0},
                {" 90s", -EINVAL, 0},
                {"s", -EINVAL, 0},
                {"5x", -EINVAL, 0},
                {"5minx", -EINVAL, 0},
                {"5MIN", -EINVAL, 0},
                {"-5s", -EINVAL, 0},
                {"Infinity", -EINVAL, 0},
                {"infinity 5s", -EINVAL, 0},
                {"18446744073709551615us", -ERANGE, 0}, /* that is infinity */
                {"18446744073709551614us", 0, UINT64_MAX - 1},
                {"18446744073709s 2s", -ERANGE, 0},
                {"99999999999999d", -ERANGE, 0},
        };

        check_numbers(parse_duration_usec, cases, ARRAY_LEN(cases));
}

TEST(boolean) {
        static const char *const yes[] = {"1", "yes", "y", "true", "t", "on", "YES", "On"};
        static const char *const no[] = {"0", "no", "n", "false", "f", "off", "NO", "oFF"};
        static const char *const neither[] = {"", "2", "yess", "ye", " yes", "enable", "-1"};
        bool value;

        for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
                value = false;
                assert_int_equal(parse_boolean(yes[i], &value), 0);
                assert_true(value);
        }
        for (size_t i = 0; i < ARRAY_LEN(no); i++) {
                value = true;
                assert_int_equal(parse_boolean(no[i], &value), 0);
                assert_false(value);
        }
        for (size_t i = 0; i < ARRAY_LEN(neither); i++) {
                value = true;
                assert_int_equal(parse_boolean(neither[i], &value), -EINVAL);
                assert_true(value);
                value = false;
                assert_int_equal(parse_boolean(neither[i], &value), -EINVAL);
                assert_false(value);
        }
}

TEST(format_size) {
        static const struct {
                uint64_t bytes;
                const char *text;
        } cases[] = {
                {0, "0"},
                {17, "17"},
                {1023, "1023"},
                {KIB, "1K"},
                {640 * KIB, "640K"},
                {1536, "1.5K"},
                {2 * MIB, "2M"},
                {GIB + GIB / 2, "1.5G"},
                {1023 * MIB + 1000 * KIB, "1G"}, /* 1023.98M rounds into the next unit */
                {1023 * MIB + 900 * KIB, "1023.9M"},
                {10 * GIB + GIB / 20 + 1, "10.1G"},
                {10 * GIB + GIB / 20, "10G"},
                {UINT64_MAX, "16E"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_text(format_size(arena, cases[i].bytes), cases[i].text);
}

TEST(format_page_count) {
        assert_text(format_page_count(arena, 1081, 2 * MIB), "1,081 pages of 2M");
        assert_text(format_page_count(arena, 1, GIB), "1 page of 1G");
        assert_text(format_page_count(arena, 0, GIB), "0 pages of 1G");
        assert_text(format_page_count_and_size(arena, 1081, 2 * MIB), "1,081 pages of 2M (2.1G)");
        assert_text(format_page_count_and_size(arena, 1, GIB), "1 page of 1G (1G)");
}

TEST(format_page_size) {
        assert_text(format_page_size(arena, 64 * KIB), "64K");
        assert_text(format_page_size(arena, 2 * MIB), "2M");
        assert_text(format_page_size(arena, 32 * MIB), "32M");
        assert_text(format_page_size(arena, GIB), "1G");
        assert_text(format_page_size(arena, 16 * GIB), "16G");
        assert_text(format_page_size(arena, 1536 * KIB), "1536K"); /* never rounded */
}

/* Page sizes and whole units survive the way out and in. */
TEST(page_size_round_trip) {
        for (unsigned shift = 12; shift < 40; shift++) {
                uint64_t bytes = 0;

                assert_int_equal(
                        parse_size_bytes(format_page_size(arena, UINT64_C(1) << shift), &bytes), 0);
                assert_true(bytes == UINT64_C(1) << shift);
        }
}

TEST(format_duration) {
        assert_text(format_duration(arena, 0), "0us");
        assert_text(format_duration(arena, 999), "999us");
        assert_text(format_duration(arena, 350 * USEC_PER_MSEC), "350ms");
        assert_text(format_duration(arena, 1200 * USEC_PER_MSEC), "1.2s");
        assert_text(format_duration(arena, 5 * USEC_PER_SEC), "5s");
        assert_text(format_duration(arena, 125 * USEC_PER_SEC), "2min 5s");
        assert_text(format_duration(arena, 120 * USEC_PER_SEC), "2min");
        assert_text(format_duration(arena, 3720 * USEC_PER_SEC), "1h 2min");
        assert_text(format_duration(arena, UINT64_MAX), "infinity");
}

TEST(format_count) {
        assert_text(format_count(arena, 0), "0");
        assert_text(format_count(arena, 999), "999");
        assert_text(format_count(arena, 1000), "1,000");
        assert_text(format_count(arena, 1234567), "1,234,567");
        assert_text(format_count(arena, UINT64_MAX), "18,446,744,073,709,551,615");
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
                /* Against what the compiler makes of it, where the operands are of all lengths. */
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
