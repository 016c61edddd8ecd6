/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/spfile.h"

#include <string.h>

enum { BLOCK_SIZE = 512, HEAD_SIZE = 20 };

char *spfile_make(Arena *arena, const char *text, size_t *ret_size) {
        size_t length = strlen(text), n = length / SPFILE_BLOCK_TEXT + 1;
        char *bytes = arena_alloc(arena, n * BLOCK_SIZE);

        for (size_t i = 0; i < n; i++) {
                char *block = bytes + i * BLOCK_SIZE;
                size_t at = i * SPFILE_BLOCK_TEXT;

                memcpy(block, "C\"\0\0", 4);
                block[4] = (char) (i + 1);
                block[15] = 1;
                memcpy(block + HEAD_SIZE, text + at,
                       length - at < SPFILE_BLOCK_TEXT ? length - at : SPFILE_BLOCK_TEXT);
                memcpy(block + BLOCK_SIZE - 4, "\1C\0\1", 4);
        }
        *ret_size = n * BLOCK_SIZE;
        return bytes;
}
