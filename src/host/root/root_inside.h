/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A root's own values, for the files root*.c only. */

#include "host/root.h"

#include <fcntl.h>
#include <unistd.h>

typedef struct Noted {
        int error;
        char path[512];
} Noted;

struct Root {
        int fd;
        char *path;
        Noted *fault; /* the first; who reads only may note it */
        Noted *aside; /* the first of those that were forgotten, and not dropped */
        Recorder *recorder;
};

/* What a signal has cut short is done again. */
#define retried(call) ((int) TEMP_FAILURE_RETRY(call))

static inline void close_fd(const int *fd) {
        if (*fd >= 0)
                close(*fd);
}

/* A descriptor, or a negative errno; MODE with O_CREAT. */
int root_open_below(const Root *root, const char *path, int flags, unsigned mode);

/* R, which is kept where it is the first fault. */
int root_note(const Root *root, const char *path, int r);
