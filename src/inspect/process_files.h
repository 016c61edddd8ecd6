/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The files of one process below /proc, as whoever looks at processes reads them. */

#include "host/root.h"
#include "read/process.h"

/* Whether a file could not be read because its process has ended, or never was. */
static inline bool process_file_is_gone(int error) {
        return error == -ENOENT || error == -ESRCH;
}

/* The file NAME of the process PID (0: this one), as root_read_kernel_file() reads it: up to MAX bytes, allocated in
 * ARENA; *RET is NULL where it returns a negative errno. RET_SIZE may be NULL. */
int process_file_read(const Root *root, Arena *arena, uint64_t pid, const char *name, size_t max,
                      char **ret, size_t *ret_size);

/* The devices of the hugetlbfs mounts that the process PID (0: this one) sees; none where that cannot be read. */
Devices process_file_hugetlbfs(const Root *root, Arena *arena, uint64_t pid);
