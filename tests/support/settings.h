/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "base/text.h"
#include "engines/formula.h"
#include "support/testing.h"

/* Settings of a database from "NAME=VALUE NAME=VALUE". */
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

/* Calls CHECK for each line that is neither empty nor a comment. Returns the number of such lines. */
static inline size_t for_each_row(const char *path, void (*check)(Arena *arena, const char *line)) {
        FILE *file = fopen(path, "re");
        char line[2048];
        size_t n = 0;

        assert_non_null(file);
        while (fgets(line, sizeof(line), file)) {
                CLEANUP(arena_freep) Arena *arena = arena_new();

                line[strcspn(line, "\n")] = '\0';
                if (*line == '#' || !*line)
                        continue;
                check(arena, line);
                n++;
        }
        assert_int_equal(fclose(file), 0);
        return n;
}
