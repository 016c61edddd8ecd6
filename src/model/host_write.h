/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A write to one of the kernel's files, as a value. */

#include "base/vec.h"

typedef struct HostWrite {
        const char *path;
        const char *value;  /* in the unit of the file */
        const char *before; /* what it shows now, likewise; NULL: not known */
} HostWrite;

typedef VEC(HostWrite) HostWrites;
