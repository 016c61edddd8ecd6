/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/size.h"

#include "base/text.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

int take_digits(const char **at, uint64_t *ret) {
        uint64_t value = 0;

        if (!text_is_digit(**at))
                return -EINVAL;
        for (; text_is_digit(**at); (*at)++)
                if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
                    __builtin_add_overflow(value, (uint64_t) (**at - '0'), &value))
                        return -ERANGE;
        *ret = value;
        return 0;
}

int parse_u64(const char *string, uint64_t *ret) {
        uint64_t value = 0;
        int r = take_digits(&string, &value);

        if (r < 0)
                return r;
        if (*string)
                return -EINVAL;
        *ret = value;
        return 0;
}

/* Takes a decimal number off *AT, as a whole number and millionths; more decimals are refused. */
static int take_decimal(const char **at, uint64_t *ret_whole, uint64_t *ret_millionths) {
        uint64_t scale = 100000;
        int r = take_digits(at, ret_whole);

        *ret_millionths = 0;
        if (r < 0 || **at != '.')
                return r;
        (*at)++;
        if (!text_is_digit(**at))
                return -EINVAL;
        for (; text_is_digit(**at); (*at)++, scale /= 10) {
                if (scale == 0)
                        return -EINVAL;
                *ret_millionths += (uint64_t) (**at - '0') * scale;
        }
        return 0;
}

int parse_size_bytes(const char *string, uint64_t *ret_bytes) {
        uint64_t whole, millionths;
        int r = take_decimal(&string, &whole, &millionths);

        if (r < 0)
                return r;
        static const char suffixes[] = "KkMmGgTtPpEe";
        const char *found = *string ? strchr(suffixes, *string) : NULL;
        unsigned power = found ? (unsigned) (found - suffixes) / 2 + 1 : 0; /* of 1024 */

        string += found != NULL;
        if (found && text_starts_with(string, "iB"))
                string += 2;
        else if (*string == 'B')
                string++;
        if (*string || (millionths > 0 && power == 0))
                return -EINVAL;
        uint64_t unit = UINT64_C(1) << (10 * power);
        uint64_t fraction = mul_div(unit, millionths, 1000000);

        if (__builtin_mul_overflow(whole, unit, &whole) ||
            __builtin_add_overflow(whole, fraction, &whole))
                return -ERANGE;
        *ret_bytes = whole;
        return 0;
}

int parse_percent_hundredths(const char *string, uint64_t *ret_hundredths) {
        uint64_t whole, millionths;
        int r = take_decimal(&string, &whole, &millionths);

        if (r < 0)
                return r;
        if (strcmp(string, "%") != 0 || millionths % 10000 != 0)
                return -EINVAL;
        if (whole > 100 || (whole == 100 && millionths > 0))
                return -ERANGE;
        *ret_hundredths = whole * 100 + millionths / 10000;
        return 0;
}

static const struct {
        const char *names;
        uint64_t usec;
} time_units[] = {
        {"us usec", 1},
        {"ms msec", USEC_PER_MSEC},
        {"s sec second seconds", USEC_PER_SEC},
        {"m min minute minutes", 60 * USEC_PER_SEC},
        {"h hr hour hours", 3600 * USEC_PER_SEC},
        {"d day days", 86400 * USEC_PER_SEC},
};

int parse_duration_usec(const char *string, uint64_t *ret_usec) {
        uint64_t total = 0;

        if (strcmp(string, "infinity") == 0) {
                *ret_usec = UINT64_MAX;
                return 0;
        }
        do {
                uint64_t whole, millionths, part;
                char name[sizeof("seconds")] = "s"; /* the default */
                size_t i = 0;
                int r = take_decimal(&string, &whole, &millionths);

                if (r < 0)
                        return r;
                string += strspn(string, " ");
                size_t length = strspn(string, "abcdefghijklmnopqrstuvwxyz");

                if (length >= sizeof(name))
                        return -EINVAL;
                memcpy(name, string, length);
                while (i < ARRAY_LEN(time_units) && !text_has_word(time_units[i].names, name))
                        i++;
                if (i == ARRAY_LEN(time_units))
                        return -EINVAL;
                uint64_t unit = time_units[i].usec;

                string += length;
                string += strspn(string, " ");
                if (__builtin_mul_overflow(whole, unit, &part) ||
                    __builtin_add_overflow(part, unit * millionths / 1000000, &part) ||
                    __builtin_add_overflow(total, part, &total) || total == UINT64_MAX)
                        return -ERANGE;
        } while (*string);
        *ret_usec = total;
        return 0;
}

int parse_boolean(const char *string, bool *ret) {
        static const char *const words[2][6] = {
                {"0", "no", "n", "false", "f", "off"},
                {"1", "yes", "y", "true", "t", "on"},
        };

        for (size_t value = 0; value < 2; value++)
                for (size_t i = 0; i < ARRAY_LEN(words[value]); i++)
                        if (strcasecmp(string, words[value][i]) == 0) {
                                *ret = value;
                                return 0;
                        }
        return -EINVAL;
}

static const char size_letters[] = "BKMGTPE";

char *format_page_size(Arena *arena, uint64_t bytes) {
        unsigned power = 0;

        for (; power < 6 && bytes >= 1024 && bytes % 1024 == 0; power++)
                bytes /= 1024;
        if (power == 0)
                return arena_printf(arena, "%" PRIu64, bytes);
        return arena_printf(arena, "%" PRIu64 "%c", bytes, size_letters[power]);
}

char *format_size(Arena *arena, uint64_t bytes) {
        unsigned power = 0;
        uint64_t unit = 1;

        while (power < 6 && bytes / unit >= 1024) {
                unit *= 1024;
                power++;
        }
        /* Ten times the largest unit does not overflow; rounding may reach the next unit: 1023.96M is 1G. */
        uint64_t tenths = bytes / unit * 10 + (bytes % unit * 10 + unit / 2) / unit;

        if (tenths >= 10240 && power < 6) {
                power++;
                tenths = 10;
        }
        if (power == 0)
                return arena_printf(arena, "%" PRIu64, bytes);
        if (tenths % 10 == 0)
                return arena_printf(arena, "%" PRIu64 "%c", tenths / 10, size_letters[power]);
        return arena_printf(arena, "%" PRIu64 ".%u%c", tenths / 10, (unsigned) (tenths % 10),
                            size_letters[power]);
}

/* Adds X, which is below C, to the remainder of a division by C. Returns whether the quotient grows by one. */
static bool add_rest(uint64_t *rest, uint64_t x, uint64_t c) {
        bool is_more = *rest >= c - x;

        *rest = is_more ? *rest - (c - x) : *rest + x;
        return is_more;
}

/* If the product overflows, divides bit by bit of A: 32-bit machines have no 128-bit integers. */
static uint64_t divide_product(uint64_t a, uint64_t b, uint64_t c, uint64_t *ret_rest) {
        uint64_t product, whole = 0, rest = 0;

        if (!__builtin_mul_overflow(a, b, &product)) {
                *ret_rest = product % c;
                return product / c;
        }
        for (uint64_t bit = UINT64_C(1) << 63; bit > 0; bit >>= 1) {
                whole = add_saturated(mul_saturated(whole, 2), add_rest(&rest, rest, c));
                if (a & bit) {
                        whole = add_saturated(whole, b / c);
                        whole = add_saturated(whole, add_rest(&rest, b % c, c));
                }
        }
        *ret_rest = rest;
        return whole;
}

uint64_t mul_div(uint64_t a, uint64_t b, uint64_t c) {
        uint64_t rest;

        return divide_product(a, b, c, &rest);
}

uint64_t mul_div_up(uint64_t a, uint64_t b, uint64_t c) {
        uint64_t rest, whole = divide_product(a, b, c, &rest);

        return add_saturated(whole, rest != 0);
}

uint64_t share_of(uint64_t whole, uint64_t hundredths) {
        return mul_div(whole, hundredths, 10000);
}
