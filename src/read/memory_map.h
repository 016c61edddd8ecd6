/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The address space of a server, by kind of pages: the bytes of huge pages, and those of small pages that could have
 * been huge ones.
 *
 * Reading /proc/PID/maps walks mappings, which is cheap whatever their size, but it does not show the pages of a System
 * V segment or a memfd. numa_maps does, but walks all pages of the process: it is read only if the kind of pages is in
 * doubt. Sources: Documentation/filesystems/proc.rst, fs/proc/task_mmu.c. */

#include "read/process.h"

typedef struct MemoryMap {
        size_t n_mappings;
        uint64_t huge_bytes;     /* certainly of huge pages */
        uint64_t doubtful_bytes; /* of huge or small pages: only maps was read */
        /* Small pages of mappings that are large enough for a database's main memory, or shared and anonymous, which
         * only main memory is: shared with its other processes (and the part in System V segments), or anonymous,
         * private and writable (and the largest of these). */
        uint64_t shared_bytes, sysv_bytes;
        uint64_t private_bytes, private_largest_bytes;
        uint64_t unnamed_bytes; /* small pages, shared, of no file; of any size */
        const char *
                policy; /* of its first mapping of huge pages: "default", "bind:1"; NULL: not known */
} MemoryMap;

/* Parses /proc/PID/maps and NUMA_MAPS, which may be NULL; HUGETLBFS: devices of the process's hugetlbfs mounts. */
MemoryMap memory_map_parse(Arena *arena, const char *maps, const char *numa_maps,
                           const Devices *hugetlbfs);

/* Returns the most bytes of small pages that could be a fallback from huge ones. */
static inline uint64_t memory_map_small_bytes(const MemoryMap *map) {
        return add_saturated(map->shared_bytes, map->private_bytes);
}

/* ---- System V segments ---- */

typedef struct SysvSegment {
        uint64_t id; /* shmid */
        uint64_t size_bytes;
        uint64_t pid; /* of the creator */
        uint64_t n_attached;
        uint64_t resident_bytes;
} SysvSegment;

typedef VEC(SysvSegment) SysvSegments;

/* Parses /proc/sysvipc/shm, sysvipc(7), which does not show which segments have huge pages. Returns the segments in the
 * order of TEXT, which may be NULL, without the heading and malformed lines. */
SysvSegments sysv_segments_parse(Arena *arena, const char *text);
