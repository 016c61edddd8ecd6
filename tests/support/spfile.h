/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Oracle server parameter files with the format that dumps show. */

#include "base/arena.h"

enum { SPFILE_BLOCK_TEXT = 488 };

/* TEXT in at least one block of 512 bytes, padded with NULs. */
char *spfile_make(Arena *arena, const char *text, size_t *ret_size);
