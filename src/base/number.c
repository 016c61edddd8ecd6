/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers as programs write them. */
#include "base/size.h"

#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int parse_hex_u64(const char *string, uint64_t *ret) {
        size_t n = strspn(string, "0123456789abcdefABCDEF");

        if (n == 0 || string[n])
                return -EINVAL;
        errno = 0;
        uint64_t value = strtoull(string, NULL, 16);

        if (errno == ERANGE)
                return -ERANGE;
        *ret = value;
        return 0;
}

int parse_number(const char *string, Number *ret, const char **ret_rest) {
        char *end;

        if (!text_is_digit(*string) && *string != '.')
                return -EINVAL;
        errno = 0;
        *ret = (Number){.whole = strtoull(string, &end, 0)};
        if (errno == ERANGE || *end == '.' || *end == 'e' || *end == 'E')
                *ret = (Number){.real = strtod(string, &end)};
        *ret_rest = end;
        return end == string ? -EINVAL : 0;
}

int number_scale(const Number *number, uint64_t factor, uint64_t *ret) {
        double product = number->real * (double) factor;

        if (number->real == 0)
                return __builtin_mul_overflow(number->whole, factor, ret) ? -ERANGE : 0;
        if (!(product < 0x1p63))
                return -ERANGE;
        *ret = (uint64_t) product;
        *ret += (double) *ret < product;
        return 0;
}
