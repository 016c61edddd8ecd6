/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/size.h"

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
