/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"

#include <assert.h>
#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

bool text_fits(const char *patterns, const char *name) {
        bool is_in = false;

        for (size_t length; patterns && *(patterns += strspn(patterns, " ")); patterns += length) {
                bool is_negated = *patterns == '!';
                char first = patterns[is_negated], pattern[128];

                length = (size_t) (strchrnul(patterns, ' ') - patterns);
                assert(length < sizeof(pattern));
                memcpy(pattern, patterns, length);
                pattern[length] = '\0';
                if ((first == *name || !isalnum((unsigned char) first)) &&
                    fnmatch(pattern + is_negated, name, FNM_PATHNAME) == 0)
                        is_in = !is_negated;
        }
        return is_in;
}
