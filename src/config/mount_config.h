/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Mount=: "PATH [mode=0770] [owner=USER[:GROUP]] [size=SIZE] [min_size=SIZE]".
 *
 * The path comes to stand in unit files, where specifiers, quotes, backslashes and whitespace have a
 * meaning. None of them is needed for a mount point, so a path that has one is refused, and what is
 * left is written as it is. Refused too are places whose loss would cost more than a database:
 * the system's own, and those that services see a private copy of. */

#include "base/arena.h"

/* Mount=: a hugetlbfs mount for the instance alone. */
typedef struct MountConfig {
        const char *path; /* absolute and normal, of characters that unit files take as they are */
        unsigned mode;
        const char *user, *group; /* owner=; NULL: not given */
        uint64_t size_bytes;      /* the most that fits in; 0: not given */
        uint64_t min_size_bytes;  /* earmarked for it from the start; 0: none */
} MountConfig;

/* Fills *ret and returns NULL, or leaves it and returns a sentence on what is wrong with VALUE. */
const char *mount_config_parse(Arena *arena, const char *value, MountConfig *ret);

/* Whether one is the other, or lies in it. Both are normal. */
bool mount_paths_overlap(const char *a, const char *b);

/* "/mnt/huge" -> "mnt-huge.mount", as `systemd-escape --path --suffix=mount` has it: systemd.unit(5),
 * STRING ESCAPING FOR INCLUSION IN UNIT NAMES. */
char *mount_unit_name(Arena *arena, const char *path);
