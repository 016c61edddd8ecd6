/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Limits of control groups that are too low for the huge pages of all instances in the group, of two kinds:
 *
 * - Since kernel 6.7 cgroup2 can be mounted with memory_hugetlb_accounting (systemd does so from 259 on); then huge pages
 *   in use count against memory.max and memory.high, which are MemoryMax= and MemoryHigh=. No process is killed at the
 *   limit: on most kernels the process spins in the page fault handler for ever, and the unit stays active. Measured on
 *   6.12 and 7.2.
 * - hugetlb.SIZE.rsvd.max and hugetlb.SIZE.max, which containers' managers and administrators write.
 *
 * Documentation/admin-guide/cgroup-v2.rst */

#include "model/reason.h"
#include "read/source.h"

typedef struct MemoryLimit {
        const char *file;         /* "/sys/fs/cgroup/system.slice/memory.max", or of the unit */
        unsigned line;            /* 0: the file has only one */
        const char *path;         /* "/sys/fs/cgroup/system.slice" */
        const char *group;        /* "system.slice": the limited unit or slice */
        const char *key;          /* "MemoryMax", "hugetlb.2MB.max" */
        uint64_t page_size_bytes; /* 0: pages of all sizes count */
        uint64_t bytes;
} MemoryLimit;

typedef VEC(MemoryLimit) MemoryLimits;

/* Returns whether huge pages count against memory limits on this host. */
bool memory_limits_count_huge_pages(Arena *arena, const Sources *sources);

/* Returns the limits of GROUP, the control group of a unit, and of the groups above, up to but not including HIERARCHY,
 * the mount point (NULL: cgroup v1, which has none): on pages of PAGE_SIZE_BYTES, and on memory if HAS_MEMORY. */
MemoryLimits memory_limits_read(Arena *arena, const Sources *sources, const char *hierarchy,
                                const char *group, uint64_t page_size_bytes, bool has_memory);

/* The huge pages of an instance that runs or starts. */
typedef struct MemoryUse {
        const char *name; /* the instance's */
        const char *path; /* of its unit's control group: "/sys/fs/cgroup/system.slice/pg.service" */
        uint64_t page_size_bytes;
        uint64_t bytes;
} MemoryUse;

typedef VEC(MemoryUse) MemoryUses;

/* Returns whether one of the limits applies to USE. A unit's own rsvd.max, which hugeplan sets, does not. */
bool memory_limits_apply(const MemoryLimits *limits, const MemoryUse *use);

/* Returns REASON_MEMORY_LIMIT if one of the limits is below all uses to which it applies; names the one exceeded most. */
Reason memory_limits_judge(Arena *arena, const MemoryLimits *limits, const MemoryUses *uses);
