/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What of a line stays in a recording: kept.h. */

#include "base/index.h"

#include <string.h>

typedef struct Kept {
        Arena *arena;
        /* Variables that what stays refers to, in whatever file they are set: their names, and of some the values. */
        Index *words, *values;
        Index *paths; /* of files that were read: who names them is understood */
        Index *known; /* of words, what does not depend on where they stand */
        size_t n_names;
} Kept;

/* One text, as it is gone through. */
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

enum { KEPT_WORD = 1 << 0, KEPT_LETTER = 1 << 1 };

/* Of each byte: every one of every file is asked for several times. */
static const unsigned char kept_bytes[256] = {
        ['0' ... '9'] = KEPT_WORD | KEPT_LETTER,
        ['A' ... 'Z'] = KEPT_WORD | KEPT_LETTER,
        ['a' ... 'z'] = KEPT_WORD | KEPT_LETTER,
        [0x80 ... 0xff] = KEPT_WORD | KEPT_LETTER,
        ['_'] = KEPT_WORD,
        ['-'] = KEPT_WORD,
        ['.'] = KEPT_WORD,
        ['/'] = KEPT_WORD,
        ['+'] = KEPT_WORD,
        ['*'] = KEPT_WORD,
        ['%'] = KEPT_WORD,
        ['~'] = KEPT_WORD,
        ['!'] = KEPT_WORD,
        ['?'] = KEPT_WORD,
        ['^'] = KEPT_WORD,
};

static inline bool kept_is_letter(char c) {
        return kept_bytes[(unsigned char) c] & KEPT_LETTER;
}

static inline bool kept_is_word_byte(char c) {
        return kept_bytes[(unsigned char) c] & KEPT_WORD;
}

bool kept_is_comment(const char *at, const char *end);

/* Which rows of the table of names hold for files of this path. */
unsigned kept_rows(const char *path);

/* Keeps of a line the words that are read, and their values. */
void kept_line(Reading *reading, const char *begin, const char *end);
