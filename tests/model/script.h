/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Scripts of operations by processes and administrators on huge pages, one operation per line. The model
 * (script_model.c) and a kernel (script_kernel.c) perform them, and print the same text after each line: the result, and
 * every counter.
 *
 *     sizes 2M                          page sizes that are shown; the first one is the default
 *     set node0 100 | set host 10 1G    nr_hugepages of a node, of the host
 *     set sysctl 100 | set policy 5     vm.nr_hugepages; nr_hugepages_mempolicy
 *     set overcommit 50                 nr_overcommit_hugepages
 *     demote node0 1 1G
 *         by=A: written by process A, in its cpuset and under its policy
 *     write PATH TEXT                   "\n" and "\s" in TEXT are a line end and a space
 *     group g | group g/h               control groups below SCRIPT_GROUP; rmgroup g
 *     control g +hugetlb | control +hugetlb    cgroup.subtree_control; without g: of SCRIPT_GROUP
 *     limit g rsvd.max=40               pages of hugetlb.SIZE.rsvd.max, or max; "max"
 *     mems g 0                          cpuset.mems
 *     run A [cpu=1] [group=g] [policy=bind:1]     cpu: on a CPU of that node
 *     policy A interleave:0-1           set_mempolicy(2); bind, preferred, local
 *     move A g
 *     fork A B
 *     map A 200 | map A:x 200 1G private noreserve   x distinguishes mappings of A
 *     mbind A:x bind:1
 *     touch A 0-49 | touch A all        writes; in this order
 *     unmap A:x
 *     exit A
 *     segment S 40 by=A [noreserve]     shmget(2) by A; attach B S; rmid S
 *     mount M [min=20] [size=40] [1G]   hugetlbfs; file A:x M/f 10; unmount M
 *
 * "#" begins a comment. Names are words. A mistake in a script ends the run. */

#include "base/text.h"
#include "base/vec.h"
#include "model/kernel_model.h"

enum {
        SCRIPT_PROCESSES_MAX = 64,
        SCRIPT_MAPPINGS_MAX = 64, /* of one process */
        SCRIPT_SEGMENTS_MAX = 32,
        SCRIPT_MOUNTS_MAX = 8,
        SCRIPT_GROUPS_MAX = 16,
        SCRIPT_SIZES_MAX = 2,
        SCRIPT_LIVES = 0,
        SCRIPT_ENDED = 1,
        SCRIPT_KILLED = 2,
};

/* The control group of scripts, on the host and in the model. */
#define SCRIPT_GROUP "/kernel-script"

typedef struct Script Script;
typedef VEC(const char *) ScriptNames;

typedef enum ScriptTarget {
        SCRIPT_SET_POOL,
        SCRIPT_SET_BY_POLICY,
        SCRIPT_SET_SYSCTL,
        SCRIPT_SET_OVERCOMMIT,
        SCRIPT_DEMOTE,
} ScriptTarget;

typedef struct ScriptMap {
        uint64_t page_bytes;
        uint64_t n_pages;
        bool is_private, is_noreserve;
        int segment; /* -1: none */
        int mount;   /* -1: none */
        const char *file;
} ScriptMap;

/* The state after an operation. */
typedef struct ScriptView {
        KernelPool pools[SCRIPT_SIZES_MAX][KERNEL_NODES_MAX];
        KernelPool hosts[SCRIPT_SIZES_MAX];
        uint64_t nodes; /* with memory, a bit for each */
        struct {
                int state;
                uint64_t pages[SCRIPT_SIZES_MAX][KERNEL_NODES_MAX];
        } processes[SCRIPT_PROCESSES_MAX];
        struct {
                KernelCharge charges[SCRIPT_SIZES_MAX]; /* is_counted: the group has the files */
        } groups[SCRIPT_GROUPS_MAX];
} ScriptView;

/* What performs a script. Processes, their mappings, segments, mounts and groups are numbered from 0. Functions return 0
 * or the kernel's negative errno; -ESRCH for a process that has ended. */
typedef struct ScriptBackend {
        int (*run)(void *context, unsigned process, unsigned cpu_node, const char *group,
                   const KernelPolicy *policy);
        int (*fork)(void *context, unsigned process, unsigned child);
        int (*exit)(void *context, unsigned process);
        int (*set_policy)(void *context, unsigned process, const KernelPolicy *policy);
        int (*move)(void *context, unsigned process, const char *group);
        int (*map)(void *context, unsigned process, unsigned mapping, const ScriptMap *map);
        int (*bind)(void *context, unsigned process, unsigned mapping, const KernelPolicy *policy);
        /* *ret_page: the page at which it was killed. */
        int (*touch)(void *context, unsigned process, unsigned mapping, uint64_t first,
                     uint64_t last, bool *ret_died, uint64_t *ret_page);
        int (*unmap)(void *context, unsigned process, unsigned mapping);
        int (*shmget)(void *context, unsigned segment, unsigned process, const ScriptMap *map);
        int (*remove_segment)(void *context, unsigned segment);
        int (*mount)(void *context, unsigned mount, uint64_t page_bytes, uint64_t min_pages,
                     uint64_t max_pages);
        int (*unmount)(void *context, unsigned mount);
        int (*set)(void *context, int by, ScriptTarget target, int node, uint64_t page_bytes,
                   uint64_t n_pages);
        int (*write)(void *context, const char *path, const char *text);
        int (*make_group)(void *context, const char *group);
        int (*remove_group)(void *context, const char *group);
        int (*write_group)(void *context, const char *group, const char *attribute,
                           const char *text);
        void (*look)(void *context, const Script *script, ScriptView *ret);
} ScriptBackend;

struct Script {
        Arena *arena;
        const ScriptBackend *backend;
        void *context;
        uint64_t sizes[SCRIPT_SIZES_MAX];
        unsigned n_sizes;
        ScriptNames processes, segments, mounts;
        ScriptNames groups;                         /* NULL: removed */
        ScriptNames mappings[SCRIPT_PROCESSES_MAX]; /* NULL: unmapped */
        uint64_t failed[SCRIPT_PROCESSES_MAX]; /* a bit for each mapping that the kernel refused */
};

Script *script_new(Arena *arena, const ScriptBackend *backend, void *context);

/* Performs one line and adds the result and the state to OUT. Returns -EINVAL for a mistake, which OUT explains. */
int script_step(Script *script, const char *line, Text *out);

/* Adds lines that end all processes, remove all segments and mounts, and empty the pools. */
void script_end(const Script *script, Arena *arena, ScriptNames *lines);

/* The name of a page size in the hugetlb controller's files: "2MB". */
char *script_size_name(Arena *arena, uint64_t page_bytes);
