/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Numbers as people write them: sizes ("1.5T"), shares ("25%"), time spans ("5min"), booleans.
 *
 * The only code that converts text to numbers. Every parser consumes the whole string, checks range and overflow, and
 * leaves *ret unchanged if it fails: with -EINVAL for invalid text, -ERANGE for values that do not fit. Sizes are
 * binary, as in systemd: 1K is 1024 bytes. */

#include "base/arena.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

#define USEC_PER_MSEC UINT64_C(1000)
#define USEC_PER_SEC  UINT64_C(1000000)

/* Decimal digits only: no sign, no whitespace, no leading "0x". */
int parse_u64(const char *string, uint64_t *ret);

/* The same for the digits that *AT begins with, and moves *AT after them. */
int take_digits(const char **at, uint64_t *ret);

typedef struct Number {
        uint64_t whole;
        double real; /* if it has a fraction or an exponent, or exceeds uint64_t; else 0 */
} Number;

/* Parses the number that STRING begins with, in C notation: 1200, 0x40, 010 (octal), 1.5, 1e3; *RET_REST is the text
 * after it. Returns -EINVAL if there is no number, or a sign. */
int parse_number(const char *string, Number *ret, const char **ret_rest);

/* Computes NUMBER * FACTOR, rounded up to a whole number. Returns -ERANGE if the result does not fit. */
int number_scale(const Number *number, uint64_t factor, uint64_t *ret);

/* Hexadecimal digits only, of either case, as in the kernel's lists of addresses. */
int parse_hex_u64(const char *string, uint64_t *ret);

/* Parses bytes: digits, optionally a fraction, optionally one of K M G T P E (either case) and then optionally "B" or
 * "iB". A fraction needs a suffix; fractions of a byte are cut off. */
int parse_size_bytes(const char *string, uint64_t *ret_bytes);

/* Parses "25%" into hundredths of a percent (2500); up to two decimals, at most 100%. */
int parse_percent_hundredths(const char *string, uint64_t *ret_hundredths);

/* Time spans as in systemd.time(7): "90", "90s", "2min 30s", "1h"; a bare number is seconds;
 * "infinity" is UINT64_MAX. */
int parse_duration_usec(const char *string, uint64_t *ret_usec);

/* Booleans as in systemd: 1 yes y true t on; 0 no n false f off; any case. */
int parse_boolean(const char *string, bool *ret);

/* Formats sizes: "1.5G", "2M", "640K", "17"; at most four digits before the point and at most one after it, rounded to
 * nearest. Whole numbers have no decimal ("2M", not "2.0M"). */
char *format_size(Arena *arena, uint64_t bytes);

/* "2M", "1G", "64K": page sizes, always exact. */
char *format_page_size(Arena *arena, uint64_t bytes);

/* "350ms", "1.2s", "2min 5s". */
char *format_duration(Arena *arena, uint64_t usec);

/* 1234567 -> "1,234,567". */
char *format_count(Arena *arena, uint64_t n);

/* "1 page of 1G", "1,081 pages of 2M"; and with their size: "1,081 pages of 2M (2.1G)". If the size is 0: "1 page". */
char *format_page_count(Arena *arena, uint64_t pages, uint64_t page_size_bytes);
char *format_page_count_and_size(Arena *arena, uint64_t pages, uint64_t page_size_bytes);

/* A*B and A+B, limited to UINT64_MAX on overflow. */
static inline uint64_t mul_saturated(uint64_t a, uint64_t b) {
        uint64_t product;

        return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static inline uint64_t add_saturated(uint64_t a, uint64_t b) {
        uint64_t sum;

        return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* A*B/C, rounded down or up, even if A*B overflows; UINT64_MAX if the result does not fit. C is not 0. */
uint64_t mul_div(uint64_t a, uint64_t b, uint64_t c);
uint64_t mul_div_up(uint64_t a, uint64_t b, uint64_t c);

/* A minus B, or 0 if B is larger. */
static inline uint64_t sub_floored(uint64_t a, uint64_t b) {
        return a > b ? a - b : 0;
}

static inline bool is_power_of_two(uint64_t n) {
        return n > 0 && (n & (n - 1)) == 0;
}

/* Returns the smallest power of two that is at least N, or 2^63 if that does not fit. */
static inline uint64_t power_of_two_from(uint64_t n) {
        return n <= 1 ? 1 : UINT64_C(1) << MIN(64 - __builtin_clzll(n - 1), 63);
}

static inline uint64_t div_round_up(uint64_t a, uint64_t b) {
        return a / b + (a % b != 0);
}

/* Returns the next multiple of STEP (not 0); UINT64_MAX on overflow. */
static inline uint64_t round_up_saturated(uint64_t bytes, uint64_t step) {
        return mul_saturated(div_round_up(bytes, step), step);
}

/* SHARE hundredths of a percent of WHOLE, without overflow, rounded down. */
uint64_t share_of(uint64_t whole, uint64_t hundredths);
