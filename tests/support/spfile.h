/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Oracle server parameter files as they are seen in dumps, for tests. */

#include "base/arena.h"

enum { SPFILE_BLOCK_TEXT = 488 };

/* TEXT in blocks of 512 bytes, the last one filled up with NULs; at least one block. */
char *spfile_make(Arena *arena, const char *text, size_t *ret_size);
