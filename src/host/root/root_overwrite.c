/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing to disk space that is allocated already. */
#include "host/root/root_inside.h"

#include <string.h>
#include <sys/stat.h>

int root_overwrite_file(const Root *root, const char *path, size_t size, off_t at,
                        const char *text) {
        CLEANUP(close_fd)
        int fd = root_open_below(root, path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return fd < 0 ? fd : -errno;
        if (!S_ISREG(st.st_mode) || (uint64_t) st.st_size != size)
                return -ENOENT;
        for (ssize_t n; *text; text += n, at += n)
                if ((n = TEMP_FAILURE_RETRY(pwrite(fd, text, strlen(text), at))) <= 0)
                        return n < 0 ? -errno : -EIO;
        return retried(fsync(fd)) < 0 ? -errno : 0;
}
