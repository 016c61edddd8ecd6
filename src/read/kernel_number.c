/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/kernel_line.h"

int kernel_number_parse(const char *string, uint64_t *ret, const char **ret_rest) {
        const char *rest;
        Number number;
        int r = parse_number(string, &number, &rest);

        if (r < 0)
                return r;
        if (number.real != 0)
                return -ERANGE;
        *ret = number.whole;
        if (ret_rest)
                *ret_rest = rest;
        return 0;
}
