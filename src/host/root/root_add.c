/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing into a directory that nobody reads yet. */
#include "host/root/root_inside.h"

#include <sys/stat.h>

int root_add_file(const Root *root, const char *directory, const char *name, const char *text) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *path = arena_printf(arena, "%s/%s", directory, name);

        if (mkdirat(root->fd, directory, 0755) < 0 && errno != EEXIST)
                return -errno;
        int fd = openat(root->fd, path, ROOT_NEW_FILE, ROOT_FILE_MODE);

        if (fd < 0)
                return -errno;
        int r = write_all(fd, text);

        if (close(fd) < 0 && r == 0)
                r = -errno;
        if (r < 0)
                unlinkat(root->fd, path, 0);
        return r;
}

int root_add_link(const Root *root, const char *directory, const char *name, const char *target) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *path = arena_printf(arena, "%s/%s", directory, name);

        if (mkdirat(root->fd, directory, 0755) < 0 && errno != EEXIST)
                return -errno;
        return symlinkat(target, root->fd, path) < 0 && errno != EEXIST ? -errno : 0;
}
