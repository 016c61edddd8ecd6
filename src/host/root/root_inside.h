/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The members of Root, for the files root*.c only. */

#include "host/root.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

typedef struct Noted {
        int error;
        char path[512];
} Noted;

struct Root {
        int fd;
        char *path;
        Noted *fault;       /* the first fault; a pointer, so that reading functions may set it */
        Noted *aside;       /* the first fault that was forgotten and not dropped */
        Recorder *recorder; /* and what records a name, with those in it; NULL: nothing is recorded */
        void (*record_name)(const Root *root, const char *path, const Names *names);
        Arena *kept_in;
        Index *kept; /* descriptors by path, in kept_in; NULL: no file is kept open */
};

/* Repeats CALL as long as a signal interrupts it. */
#define retried(call) ((int) TEMP_FAILURE_RETRY(call))

static inline void close_fd(const int *fd) {
        if (*fd >= 0)
                close(*fd);
}

/* How a file is created, and with what mode. */
enum {
        ROOT_NEW_FILE = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
        ROOT_FILE_MODE = 0644,
};

/* Writes all of TEXT. Returns a negative errno if a part was not written. */
static inline int write_all(int fd, const char *text) {
        while (*text) {
                ssize_t n = TEMP_FAILURE_RETRY(write(fd, text, strlen(text)));

                if (n < 0)
                        return -errno;
                text += n;
        }
        return 0;
}

/* Opens an existing PATH. Returns a descriptor or a negative errno. */
int root_open_below(const Root *root, const char *path, int flags);

/* Opens the directory of PATH; *RET_NAME is the part after the last slash. */
int root_open_parent(const Root *root, const char *path, const char **ret_name);

/* Returns R, and remembers it with PATH if it is the first fault. */
int root_note(const Root *root, const char *path, int r);
