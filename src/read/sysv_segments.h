/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* System V shared memory as the kernel lists it: /proc/sysvipc/shm, sysvipc(7). The list does not
 * tell which segments are of huge pages. */

#include "base/arena.h"
#include "base/vec.h"

#include <stdint.h>

typedef struct SysvSegment {
        uint64_t id; /* shmid */
        uint64_t size_bytes;
        uint64_t pid; /* of the process that made it */
        uint64_t n_attached;
        uint64_t resident_bytes;
} SysvSegment;

typedef VEC(SysvSegment) SysvSegments;

/* In the order of TEXT, which may be NULL; its heading and lines that make no sense are left out. */
SysvSegments sysv_segments_parse(Arena *arena, const char *text);
