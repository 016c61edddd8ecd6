/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What of a text stays in a recording: what a parser of ours uses. All else is a length: its letters and digits are
 * gone, lines and words stay where they were, so that the parsers find their way as before.
 *
 * Nothing here knows what a secret looks like. A word stays if an engine reads it (engine_reads()), if a table here has
 * it for files of that kind, or if it is the value of such a word. What nobody names is left out. */

#include "host/record/recording.h"
#include "inspect/kept/kept_line.h"

Kept kept_in(Arena *arena);

/* In ARENA, as many bytes as there are. Texts that refer to each other are gone through until KEPT->n_names grows no
 * more. */
char *kept_text(Kept *kept, Arena *arena, const char *path, const char *bytes, size_t size);

/* Leaves that of the files of TREE. */
void kept_tree(Arena *arena, const RecordedTree *tree);
