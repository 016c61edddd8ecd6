/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A read that failed for a reason of the moment or of the machine (EIO, EMFILE, ENOMEM), not of the file.
 * It says nothing about what is there: what could not be read is not empty. */

#include <stdbool.h>

typedef struct ReadFault {
        int error; /* negative errno; 0: none */
        const char *path;
} ReadFault;

/* False for what is an answer: that nothing is there, that it is something else, that it is not allowed. */
bool error_is_fault(int error);
