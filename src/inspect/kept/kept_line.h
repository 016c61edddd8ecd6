/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The parts of a line that a recording keeps: kept.h. */

#include "base/index.h"

#include <string.h>

typedef struct Kept {
        Arena *arena;
        /* Variables that kept text refers to, in any file: only their names are kept, or their values too. */
        Index *words, *values;
        Index *paths; /* of files that were read; mentions of them are kept */
        Index *known; /* by word: facts that do not depend on its position */
        size_t n_names;
} Kept;

/* The state of a pass over one text. */
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

/* The class of each byte; a table, because every byte of every file is classified several times. */
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

/* Returns the rows of the table of names that apply to files at PATH, as bits. */
unsigned kept_rows(const char *path);

/* Keeps the words of a line that are read, and their values. */
void kept_line(Reading *reading, const char *begin, const char *end);
