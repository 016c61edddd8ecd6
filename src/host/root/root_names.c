/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"
#include "host/root/root_inside.h"

#include <dirent.h>

/* The only reader of directories. Does not use opendir(3), which fails if it cannot allocate memory. */
int root_read_names(Arena *arena, RootFolder *folder) {
        _Alignas(struct dirent64) char entries[8192];
        Names names = {};
        ssize_t n;

        while ((n = getdents64(folder->fd, entries, sizeof(entries))) != 0) {
                if (n < 0)
                        return -errno;
                for (ssize_t at = 0; at < n;) {
                        const struct dirent64 *entry = (const void *) (entries + at);

                        at += entry->d_reclen;
                        if (text_equals(entry->d_name, ".") || text_equals(entry->d_name, ".."))
                                continue;
                        char *name = *vec_push(arena, &names) = arena_strdup(arena, entry->d_name);

                        if (folder->files && entry->d_type == DT_REG)
                                index_add(folder->files, name, name);
                }
        }
        vec_sort(&names, text_compare);
        folder->names = names;
        return 0;
}
