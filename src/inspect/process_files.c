/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/process_files.h"

#include "model/names.h"

enum { MOUNTS_BYTES_MAX = 8 << 20 };

int process_file_read(const Root *root, Arena *arena, uint64_t pid, const char *name, size_t max,
                      char **ret, size_t *ret_size) {
        const char *path = pid > 0 ? arena_printf(arena, PATH_PROC "/%" PRIu64 "/%s", pid, name)
                                   : arena_printf(arena, PATH_PROC "/self/%s", name);

        *ret = NULL;
        return root_read_kernel_file(root, arena, path, max, ret, ret_size);
}

Devices process_file_hugetlbfs(const Root *root, Arena *arena, uint64_t pid) {
        char *text;

        return process_file_read(root, arena, pid, "mountinfo", MOUNTS_BYTES_MAX, &text, NULL) >= 0
                       ? process_parse_hugetlbfs(arena, text)
                       : (Devices){};
}
