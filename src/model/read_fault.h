/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A read that failed because of a temporary or hardware condition (EIO, EMFILE, ENOMEM), not because of the file. The
 * file's state is then unknown; it does not count as empty. */

#include <stdbool.h>

typedef struct ReadFault {
        int error; /* negative errno; 0: none */
        const char *path;
} ReadFault;

/* Returns false if ERROR is an answer: the file does not exist, is of another kind, or access is denied. */
bool error_is_fault(int error);
