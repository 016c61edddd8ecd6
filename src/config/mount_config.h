/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Mount=: "PATH [mode=0770] [owner=USER[:GROUP]] [size=SIZE] [min_size=SIZE]".
 *
 * The path is written to unit files, where specifiers, quotes, backslashes and whitespace have a meaning. No mount
 * point needs them, so a path that contains one is refused, and any other is written unquoted. System directories are
 * refused too, and so are directories that services see a private copy of. */

#include "base/arena.h"

/* Mount=: a hugetlbfs mount that only one instance uses. */
typedef struct MountConfig {
        const char *path; /* absolute and normalized; needs no quoting in unit files */
        unsigned mode;
        const char *user, *group; /* owner=; NULL: not given */
        uint64_t size_bytes;      /* the capacity; 0: not given */
        uint64_t min_size_bytes;  /* reserved when it is mounted; 0: none */
} MountConfig;

/* Sets *ret and returns NULL, or returns an error message and leaves *ret unchanged. */
const char *mount_config_parse(Arena *arena, const char *value, MountConfig *ret);

/* Returns whether A and B, both normalized, are equal or one contains the other. */
bool mount_paths_overlap(const char *a, const char *b);

/* Returns "mnt-huge.mount" for "/mnt/huge", like `systemd-escape --path --suffix=mount`: systemd.unit(5), STRING
 * ESCAPING FOR INCLUSION IN UNIT NAMES. */
char *mount_unit_name(Arena *arena, const char *path);
