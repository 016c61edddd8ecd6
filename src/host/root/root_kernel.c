/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions for the kernel's files and file systems only. */
#include "host/root/root_inside.h"

#include <string.h>

void root_keep_open(Root *root) {
        if (root_is_host(root))
                root->kept = index_new(root->kept_in = arena_new());
}

int root_write_attribute(const Root *root, const char *path, const char *text) {
        /* O_TRUNC has an effect on a captured host only, where attributes are regular files. */
        CLEANUP(close_fd) int fd = root_open_below(root, path, O_WRONLY | O_TRUNC | O_NOCTTY);

        if (fd < 0)
                return fd;
        ssize_t n = write(fd, text, strlen(text));

        if (n < 0)
                return -errno;
        return (size_t) n == strlen(text) ? 0 : -EIO;
}

int root_statfs(const Root *root, const char *path, struct statfs *ret) {
        CLEANUP(close_fd) int fd = root_open_below(root, path, O_PATH | O_DIRECTORY);

        return root_note(root, path, fd < 0 ? fd : fstatfs(fd, ret) < 0 ? -errno : 0);
}
