/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the kernel shows about one process and its huge pages, parsed from texts below /proc.
 *
 * These texts are untrusted: a process chooses its name, its mapped files and, below user@.service, its control group.
 * All stored text is printable UTF-8. Sources: Documentation/filesystems/proc.rst (status, maps, numa_maps,
 * cgroup), Documentation/admin-guide/cgroup-v2.rst. */

#include "model/topology.h"
#include "read/source.h"

/* One mapping of huge pages. Its pages, touched or not, are unavailable to other processes from the moment of mapping,
 * because the kernel reserves them. */
typedef struct HugeMapping {
        uint64_t address;
        uint64_t page_size_bytes; /* 0: not known, because no page was touched */
        uint64_t pages;           /* touched by this process */
        PagesByNode nodes;        /* where the touched pages are */
        /* Identifies the segment: processes that share it have equal values. All 0 if maps was not read. */
        uint64_t device;
        uint64_t inode;
        uint64_t offset_bytes;
        uint64_t length_bytes;
        bool is_private; /* no other process adds pages to it */
} HugeMapping;

typedef VEC(HugeMapping) HugeMappings;

typedef VEC(uint64_t) Devices;

typedef struct Process {
        uint64_t pid;
        uint64_t parent_pid;
        const char *command;
        const char *unit;       /* of the host's service manager; NULL: none */
        const char *unit_group; /* its control group in the unified hierarchy; NULL: none */
        /* The kernel's count for the process. With shared page tables (segments of 1 GiB and more) a page counts only
         * for the process that touched it first, and for none after that process has ended: the count is a lower bound,
         * and can be 0. */
        uint64_t huge_bytes;
        uint64_t size_bytes;     /* VmSize; 0: not known, or the process has ended */
        uint64_t resident_bytes; /* VmRSS: small pages only */
        uint64_t tables_bytes;   /* its page tables: VmPTE */
        bool is_detailed;        /* its mappings are known */
        HugeMappings mappings;
        /* What only processes_list() reads, to find databases that no instance describes. The owner of the process can forge
         * its name and arguments, so they are only used to find files, and are checked before they are written to a
         * file. */
        uint64_t uid;          /* of its user; UINT64_MAX: not known */
        SourceNames arguments; /* its command line; [0] is the name that the process gives itself */
        const char *directory; /* working directory, for many servers their data; NULL: not known */
        const char *container; /* "Podman container 0123456789ab"; NULL: its group names none */
        uint64_t peak_bytes;   /* VmPeak; 0: not known */
        uint64_t shared_bytes; /* touched shared memory: RssShmem */
        /* Mapped huge pages, and shared memory mapped instead of them; 0: none, or not examined. */
        uint64_t mapped_bytes;
        bool is_elsewhere; /* its root directory is not the host's, as in a container */
} Process;

typedef VEC(Process) Processes;

/* Compares by unit; processes without a unit come first. */
int process_compare_units(const Process *a, const Process *b);

/* Returns the value of the line "KEY: VALUE" of TEXT, such as /proc/PID/status, without surrounding whitespace, or NULL
 * if there is no such line. */
char *process_find_field(Arena *arena, const char *text, const char *key);

/* Returns the value of a line "KEY: 123 kB" in bytes, or 0 if there is no such line. */
uint64_t process_find_bytes(Arena *arena, const char *text, const char *key);

/* Computes how long a process has run, from its stat and the host's uptime, to the second; or returns -EINVAL. */
int process_parse_age(Arena *arena, const char *stat, const char *uptime, uint64_t *ret_usec);

/* Parses /proc/PID/status into command, parent and byte counts. Returns -EINVAL if TEXT is incomplete. */
int process_parse_status(Arena *arena, const char *text, Process *ret);

/* Parses /proc/PID/cgroup of a unified, hybrid or legacy host into unit and group. */
void process_parse_cgroup(Arena *arena, const char *text, Process *ret);

/* Returns the unit that a control group belongs to, as sd_pid_get_unit(3) does: the first service or scope from the
 * root down, because the unit itself manages the groups below (with names of its choice); NULL: none. *RET_LENGTH is
 * the length of the part of PATH that ends with the unit. */
char *process_unit_of_group(Arena *arena, const char *path, size_t *ret_length);

/* Returns the mappings of huge pages in /proc/PID/numa_maps. */
HugeMappings process_parse_numa_maps(Arena *arena, const char *text);

/* One line of /proc/PID/maps. */
typedef struct MapsLine {
        uint64_t start, end, offset, device, inode;
        bool is_private, is_writable;
        const char *path; /* "" for none */
} MapsLine;

/* Reads the next mapping of maps and moves *TEXT after it. Returns false if there is none. */
bool process_next_map(Arena *arena, const char **text, MapsLine *ret);

/* Adds to MAPPINGS what /proc/PID/maps shows: segment, offset and length. */
void process_add_maps(Arena *arena, const char *text, HugeMappings *mappings);

/* Copies MAPPINGS to those of PROCESS, and marks them as known. */
void process_keep_mappings(Arena *arena, const HugeMappings *mappings, Process *process);

/* Returns the devices of the hugetlbfs mounts in /proc/PID/mountinfo. */
Devices process_parse_hugetlbfs(Arena *arena, const char *text);

/* Parses "N0=515" of numa_maps and numa_stat. Returns false for other words. */
bool process_parse_node_pages(Arena *arena, const char *word, NodePages *ret);

/* Parses hugetlb.SIZE.numa_stat of a control group: the pages in use, in all and by node. */
int process_parse_numa_stat(Arena *arena, const char *text, uint64_t page_size_bytes,
                            uint64_t *ret_pages, PagesByNode *ret_nodes);

/* ---- the address space of a server, by kind of pages ---- */

/* The bytes of huge pages, and those of small pages that could have been huge ones.
 *
 * Reading /proc/PID/maps walks mappings, which is cheap whatever their size, but it does not show the pages of a System
 * V segment or a memfd. numa_maps does, but walks all pages of the process: it is read only if the kind of pages is in
 * doubt. Sources: Documentation/filesystems/proc.rst, fs/proc/task_mmu.c. */
typedef struct MemoryMap {
        uint64_t huge_bytes;     /* certainly of huge pages */
        uint64_t doubtful_bytes; /* of huge or small pages: only maps was read */
        /* Small pages of mappings that are large enough for a database's main memory, or shared and anonymous, which
         * only main memory is: shared with its other processes (and the part in System V segments), or anonymous,
         * private and writable (and the largest of these). */
        uint64_t shared_bytes, sysv_bytes;
        uint64_t private_bytes, private_largest_bytes;
        uint64_t unnamed_bytes; /* small pages, shared, of no file; of any size */
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
