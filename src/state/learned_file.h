/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* NAME.conf.d/90-learned.conf: what is known of an instance from its starts, for the next boot. */

#include "demand/learned.h"
#include "host/root.h"

typedef struct LearnedFile {
        const char *path, *old_path, *text;
} LearnedFile;

/* Returns the file to be written, in ARENA. */
LearnedFile learned_file(Arena *arena, const InstanceConfig *instance, const Learned *learned);

/* Writes FILE whole to disk, and removes earlier trees' second file. Returns a negative errno. In any thread. */
int learned_file_store(const Root *root, const LearnedFile *file);

/* Returns the present time as people write it. */
char *learned_time(Arena *arena);
