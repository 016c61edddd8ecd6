/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the kernel tells about one process and its huge pages, read from the texts below /proc.
 *
 * These texts come from strangers: a process chooses its name, its mapped files and, below
 * user@.service, its control group. Whatever is kept is printable UTF-8.
 * Sources: Documentation/filesystems/proc.rst (status, maps, numa_maps, smaps_rollup, cgroup),
 * Documentation/admin-guide/cgroup-v2.rst. */

#include "model/topology.h"

/* One mapping of huge pages. What is mapped is kept from others from the first moment on, touched or
 * not, for the kernel promises it. */
typedef struct HugeMapping {
        uint64_t address;
        uint64_t page_size_bytes; /* 0: not known, none of it was touched */
        uint64_t pages;           /* touched by this process */
        NodePages *nodes;         /* where those are */
        size_t n_nodes;
        /* Which segment: processes that share it have the same. All 0 where maps was not read. */
        uint64_t device;
        uint64_t inode;
        uint64_t offset_bytes;
        uint64_t length_bytes;
        bool is_private; /* nobody else adds pages to it */
} HugeMapping;

typedef VEC(HugeMapping) HugeMappings;

typedef VEC(uint64_t) Devices;

typedef struct Process {
        uint64_t pid;
        uint64_t parent_pid;
        const char *command;
        const char *unit;       /* of the host's manager; NULL: none */
        const char *unit_group; /* its control group in the unified hierarchy; NULL: none */
        /* As the kernel counts them for the process. With shared page tables (segments of 1 GiB and
         * more) a page counts for the process that touched it first, and for nobody once that has
         * ended: less than the truth, and as little as 0. */
        uint64_t huge_bytes;
        uint64_t size_bytes;     /* VmSize; 0: not known, as of one that has ended */
        uint64_t resident_bytes; /* VmRSS: small pages only */
        uint64_t tables_bytes;   /* its page tables: VmPTE */
        bool is_detailed;        /* its mappings are known */
        HugeMappings mappings;
} Process;

/* By unit; processes without one come first. */
int process_compare_units(const Process *a, const Process *b);

/* The value of the line "KEY:  VALUE" of TEXT, such as /proc/PID/status, without whitespace around it; NULL:
 * it has none. */
char *process_find_field(Arena *arena, const char *text, const char *key);

/* The same of a line "KEY:  123 kB", in bytes; 0: there is none. */
uint64_t process_find_bytes(Arena *arena, const char *text, const char *key);

/* How long a process has run, by its stat and the host's uptime, to the second; -EINVAL. */
int process_parse_age(Arena *arena, const char *stat, const char *uptime, uint64_t *ret_usec);

/* /proc/PID/status into command, parent and counts of bytes; -EINVAL for what is none. */
int process_parse_status(Arena *arena, const char *text, Process *ret);

/* /proc/PID/cgroup, of unified, hybrid and legacy hosts, into unit and group. */
void process_parse_cgroup(Arena *arena, const char *text, Process *ret);

/* The unit that a control group belongs to, as sd_pid_get_unit(3) names it: the first service or
 * scope on the way down, for what is below that is its own business (and may be named by anyone).
 * *RET_LENGTH is how much of PATH leads to it. NULL for none. */
char *process_unit_of_group(Arena *arena, const char *path, size_t *ret_length);

/* The container that /proc/PID/cgroup tells of: "Podman container 0123456789ab"; NULL: none. */
const char *process_container(Arena *arena, const char *text);

/* The mappings of huge pages in /proc/PID/numa_maps. */
HugeMappings process_parse_numa_maps(Arena *arena, const char *text);

/* One line of /proc/PID/maps. */
typedef struct MapsLine {
        uint64_t start, end, offset, device, inode;
        bool is_private, is_writable;
        const char *path; /* "" for none */
} MapsLine;

/* The next mapping of maps, which *TEXT is moved behind; false: there is no more. */
bool process_next_map(Arena *arena, const char **text, MapsLine *ret);

/* Its pages, as far as maps tells: an anonymous mapping of huge pages or a file on one of HUGETLBFS; a System V
 * segment or a memfd, which may be of either kind; all else. */
typedef enum MapsPages { MAPS_SMALL, MAPS_DOUBTFUL, MAPS_HUGE } MapsPages;

MapsPages process_map_pages(const MapsLine *maps, const Devices *hugetlbfs);

/* Adds what /proc/PID/maps knows about them: segment, offset and length. */
void process_add_maps(Arena *arena, const char *text, HugeMappings *mappings);

/* Copies MAPPINGS to those of PROCESS, whose details are known then. */
void process_keep_mappings(Arena *arena, const HugeMappings *mappings, Process *process);

/* Whether maps shows anything that can be of huge pages. Cheap, where numa_maps takes a walk over all pages
 * of the process. */
bool process_maps_may_be_huge(Arena *arena, const char *text, const Devices *hugetlbfs);

/* The devices of hugetlbfs mounts in /proc/PID/mountinfo. */
Devices process_parse_hugetlbfs(Arena *arena, const char *text);

/* Shared_Hugetlb and Private_Hugetlb of /proc/PID/smaps_rollup, which is right where HugetlbPages of
 * status is not. -EINVAL where they are missing. */
int process_parse_smaps_rollup(Arena *arena, const char *text, uint64_t *ret_bytes);

/* "N0=515", as both numa_maps and numa_stat have it; false for another word. */
bool process_parse_node_pages(Arena *arena, const char *word, NodePages *ret);

/* hugetlb.SIZE.numa_stat of a control group: pages in use, and where. */
int process_parse_numa_stat(Arena *arena, const char *text, uint64_t page_size_bytes,
                            uint64_t *ret_pages, NodePages **ret_nodes, size_t *ret_n);
