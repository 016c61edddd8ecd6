/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"

#include <assert.h>
#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

bool text_fits(const char *patterns, const char *name) {
        bool is_in = false;

        for (size_t length; patterns && *patterns; patterns += length) {
                bool is_negated = *patterns == '!';
                char first = patterns[is_negated], pattern[128];

                length = *patterns == ' ' ? 1 : (size_t) (strchrnul(patterns, ' ') - patterns);
                if (first != *name && (isalnum((unsigned char) first) || first == ' '))
                        continue;
                assert(length < sizeof(pattern));
                memcpy(pattern, patterns, length);
                pattern[length] = '\0';
                if (fnmatch(pattern + is_negated, name, FNM_PATHNAME) == 0)
                        is_in = !is_negated;
        }
        return is_in;
}
