/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A write to a kernel file, as a value. */

#include "base/vec.h"

typedef struct HostWrite {
        const char *path;
        const char *value;  /* in the unit of the file */
        const char *before; /* the file's current value; NULL: not known */
} HostWrite;

typedef VEC(HostWrite) HostWrites;
