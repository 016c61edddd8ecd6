/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Settings of a database, as a text. */

#include "base/text.h"
#include "engines/formula.h"
#include "support/testing.h"

/* "NAME=VALUE NAME=VALUE" as -c would give it. */
static inline Settings settings_from(Arena *arena, const char *text) {
        Settings settings = {};
        char *word;

        while ((word = text_next_word(arena, &text, " "))) {
                char *equals = strchr(word, '=');

                assert_non_null(equals);
                *equals = '\0';
                settings_add(arena, &settings, word, equals + 1, NULL);
        }
        return settings;
}
