/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The address space of a server, by kind of pages: what is of huge pages, and what lies in small ones that
 * could have been of huge ones.
 *
 * /proc/PID/maps is a walk over mappings, cheap whatever they hold, but it does not tell the pages of a
 * System V segment or a memfd. numa_maps does, for a walk over all pages of the process: it is asked only
 * where that is in doubt. Sources: Documentation/filesystems/proc.rst, fs/proc/task_mmu.c. */

#include "read/process.h"

typedef struct MemoryMap {
        size_t n_mappings;
        uint64_t huge_bytes;     /* surely of huge pages */
        uint64_t doubtful_bytes; /* of huge pages or not: nothing but maps was read */
        /* Of small pages, in mappings large enough to be a database's main memory, or shared and anonymous, which
         * is nothing else: shared with its other processes (and of that, in System V segments), or anonymous,
         * private and writable (and the largest of these). */
        uint64_t shared_bytes, sysv_bytes;
        uint64_t private_bytes, private_largest_bytes;
        uint64_t unnamed_bytes; /* of small pages, shared, and no part of a file: of any size */
        const char *
                policy; /* of its first mapping of huge pages: "default", "bind:1"; NULL: not known */
} MemoryMap;

/* MAPS is /proc/PID/maps, NUMA_MAPS may be NULL; HUGETLBFS are the devices of its mounts. */
MemoryMap memory_map_parse(Arena *arena, const char *maps, const char *numa_maps,
                           const Devices *hugetlbfs);

/* Small pages that stand in the place of huge ones, at most. */
static inline uint64_t memory_map_small_bytes(const MemoryMap *map) {
        return add_saturated(map->shared_bytes, map->private_bytes);
}

/* ---- System V segments ---- */

typedef struct SysvSegment {
        uint64_t id; /* shmid */
        uint64_t size_bytes;
        uint64_t pid; /* of the process that made it */
        uint64_t n_attached;
        uint64_t resident_bytes;
} SysvSegment;

typedef VEC(SysvSegment) SysvSegments;

/* As the kernel lists them in /proc/sysvipc/shm, sysvipc(7), which does not tell which are of huge pages. In the order
 * of TEXT, which may be NULL; its heading and lines that make no sense are left out. */
SysvSegments sysv_segments_parse(Arena *arena, const char *text);
