/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"

#include <fnmatch.h>

bool text_fits(const char *patterns, const char *name) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        bool is_in = false;
        const char *pattern;

        while (patterns && (pattern = text_next_word(arena, &patterns, " "))) {
                bool is_negated = *pattern == '!';

                if (fnmatch(pattern + is_negated, name, FNM_PATHNAME) == 0)
                        is_in = !is_negated;
        }
        return is_in;
}
