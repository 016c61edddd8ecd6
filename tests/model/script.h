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
};

typedef enum ScriptState { SCRIPT_ENDED, SCRIPT_KILLED, SCRIPT_LIVES } ScriptState;

/* The control group of scripts, on the host and in the model. */
#define SCRIPT_GROUP "/kernel-script"

typedef struct Script Script;
typedef VEC(const char *) ScriptNames;

/* What a line does. */
typedef enum ScriptVerb {
        SCRIPT_SIZES,
        SCRIPT_RUN,
        SCRIPT_EXIT,
        SCRIPT_POLICY,
        SCRIPT_MOVE,
        SCRIPT_MAP,
        SCRIPT_ATTACH,
        SCRIPT_FILE,
        SCRIPT_MBIND,
        SCRIPT_TOUCH,
        SCRIPT_UNMAP,
        SCRIPT_SEGMENT,
        SCRIPT_RMID,
        SCRIPT_MOUNT,
        SCRIPT_UNMOUNT,
        SCRIPT_SET,
        SCRIPT_SET_BY_POLICY,
        SCRIPT_SET_SYSCTL,
        SCRIPT_SET_OVERCOMMIT,
        SCRIPT_DEMOTE,
        SCRIPT_WRITE,
        SCRIPT_MAKE_GROUP,
        SCRIPT_REMOVE_GROUP,
        SCRIPT_WRITE_GROUP,
} ScriptVerb;

/* A line that was read. Processes, their mappings, segments and mounts are numbered from 0. */
typedef struct ScriptOperation {
        ScriptVerb verb;
        int process; /* -1: none; by=A is also a process */
        unsigned mapping, segment, mount;
        unsigned cpu_node;
        int node; /* KERNEL_HOST: the host */
        KernelPolicy policy;
        uint64_t page_bytes, n_pages;
        uint64_t first, last;          /* pages to touch */
        uint64_t min_pages, max_pages; /* of a mount; UINT64_MAX: not given */
        bool is_private, is_noreserve;
        const char *group; /* below SCRIPT_GROUP; "": that one; NULL: none */
        const char *file;  /* a file in a mount, a path, or an attribute of a group */
        const char *text;  /* what is written */
} ScriptOperation;

/* What performs a script. */
typedef struct ScriptBackend {
        /* Returns 0 or the kernel's negative errno; -ESRCH for a process that has ended. *RET_KILLED_AT: the page at
         * which the process was killed; otherwise unchanged. */
        int (*perform)(void *context, const ScriptOperation *operation, uint64_t *ret_killed_at);
        uint64_t (*memory_nodes)(void *context); /* a bit for each */
        /* Size 0: the default size, with `max_pages`. */
        KernelPool (*pool)(void *context, int node, uint64_t page_bytes);
        /* is_counted: the group has the controller's files. */
        KernelCharge (*charge)(void *context, const char *group, uint64_t page_bytes);
        ScriptState (*state)(void *context, unsigned process);
        /* Adds the pages of a living process by node. */
        void (*count_pages)(void *context, unsigned process, uint64_t page_bytes, uint64_t *pages);
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
