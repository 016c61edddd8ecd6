/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One text, as it is gone through: what kept.c and kept_line.c share. */

#include "inspect/kept/kept.h"

#include <string.h>

typedef struct Reading {
        Kept *kept;
        Arena *scratch;
        const char *path;
        unsigned rows; /* kept_rows() */
        const char *bytes;
        char *out;
} Reading;

static inline void kept_keep(const Reading *reading, const char *from, const char *to) {
        memcpy(reading->out + (from - reading->bytes), from, (size_t) (to - from));
}

bool kept_is_letter(char c);
bool kept_is_word_byte(char c);
bool kept_is_comment(const char *at, const char *end);

/* Which rows of the table of names hold for files of this path. */
unsigned kept_rows(const char *path);

/* Keeps of a line the words that are read, and their values. */
void kept_line(Reading *reading, const char *begin, const char *end);
