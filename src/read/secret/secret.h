/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Secrets in texts of the host: found by the words that people and programs call them by, and left out.
 *
 * What hugeplan needs of these texts are sizes, paths and switches. So rather too much is left out than too little:
 * a value whose name speaks of a password, a key or a token; a password in an address or behind -p; all comments; of
 * processes that are no database, all arguments; of accounts, everything but names, numbers and directories. */

#include "base/text.h"

typedef struct MaskedText {
        const char *bytes;
        size_t size;
        size_t n_masked; /* places where something was left out */
} MaskedText;

#define SECRET_MASK "REDACTED"

/* PATH says what it is. Lines stay lines, words stay words, and a text with NULs keeps its length. */
MaskedText secret_mask(Arena *arena, const char *path, const char *bytes, size_t size);
