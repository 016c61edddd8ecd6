/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The parts of a text that a recording keeps: those that hugeplan's parsers use. In all other parts each letter and
 * digit is masked, while lines and words keep their places and lengths, so that the parsers work as before.
 *
 * The code cannot recognize secrets. A word is kept if an engine reads it (engine_reads()), if a table here lists it
 * for files of that kind, or if it is the value of such a word. All other words are masked. */

#include "base/index.h"
#include "host/record/recording.h"

typedef struct Kept {
        Arena *arena;
        /* Variables that kept text refers to, in any file: only their names are kept, or their values too. */
        Index *words, *values;
        Index *paths; /* of files that were read; mentions of them are kept */
        Index *known; /* by word: facts that do not depend on its position */
        size_t n_names;
} Kept;

Kept kept_in(Arena *arena);

/* Returns the masked text, of the same size, in ARENA, or BYTES if all is kept. Texts refer to each other: before the
 * pass that counts, the caller repeats the pass over texts with a "$" until KEPT->n_names stops growing. */
const char *kept_text(Kept *kept, Arena *arena, const char *path, const char *bytes, size_t size);

/* Masks the files of TREE. */
void kept_tree(Arena *arena, const RecordedTree *tree);
