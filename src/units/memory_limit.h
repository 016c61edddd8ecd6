/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Limits of memory that are too low for huge pages. Since kernel 6.7 cgroup2 may be mounted with
 * memory_hugetlb_accounting (systemd does so from 259 on), and huge pages in use count against
 * memory.max and memory.high then, which are MemoryMax= and MemoryHigh=. Where they hit the limit, no
 * process is killed: on most kernels it spins in the page fault handler for ever, and the unit stays
 * active. Documentation/admin-guide/cgroup-v2.rst; measured on 6.12 and 7.2. */

#include "model/reason.h"
#include "read/source.h"

typedef struct MemoryLimit {
        const char *file;  /* "/sys/fs/cgroup/system.slice/memory.max" */
        const char *path;  /* "/sys/fs/cgroup/system.slice" */
        const char *group; /* "system.slice": the unit or slice that it limits */
        const char *key;   /* "MemoryMax" */
        uint64_t bytes;
} MemoryLimit;

typedef VEC(MemoryLimit) MemoryLimits;

/* Whether huge pages count against limits of memory on this host. */
bool memory_limits_count_huge_pages(Arena *arena, const Sources *sources);

/* The limits of GROUP and of those above it, up to HIERARCHY, of which it is a path below. */
MemoryLimits memory_limits_read(Arena *arena, const Sources *sources, const char *hierarchy,
                                const char *group);

/* The huge pages of an instance that runs, or is about to start. */
typedef struct MemoryUse {
        const char *name; /* the instance's */
        const char *path; /* of its unit's control group: "/sys/fs/cgroup/system.slice/pg.service" */
        uint64_t bytes;
} MemoryUse;

typedef VEC(MemoryUse) MemoryUses;

/* REASON_MEMORY_LIMIT where one of the limits is below the huge pages of all uses in its group; of
 * several the one that they exceed most. */
Reason memory_limits_judge(Arena *arena, const MemoryLimits *limits, const MemoryUses *uses);

/* What happens at such a limit: the end of a sentence. */
#define MEMORY_LIMIT_LIVELOCK                                                          \
        "huge pages count against it here (memory_hugetlb_accounting), and on most "   \
        "kernels a process that hits it spins in the page fault handler for ever: no " \
        "OOM kill, and the unit stays active"
