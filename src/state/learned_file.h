/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* NAME.conf.d/90-learned.conf: what is known of an instance from its starts, for the next boot. */

#include "demand/learned.h"
#include "host/root.h"

typedef struct LearnedFile {
        const char *path, *old_path, *text;
} LearnedFile;

/* As it is to be, in ARENA. */
LearnedFile learned_file(Arena *arena, const InstanceConfig *instance, const Learned *learned);

/* Writes it, on disk and whole, and removes the second file that earlier trees had. Negative errno. In any thread. */
int learned_file_store(const Root *root, const LearnedFile *file);

/* Now, as people write it. */
char *learned_time(Arena *arena);
