/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The kernel command line that provides the plan's gigantic pages from boot on, and the changes that it needs.
 *
 * Gigantic pages (1G on x86) need contiguous memory that nothing has used yet, so only the command line gives them
 * reliably. hugeplan prints what to write and never edits. */

#include "plan/plan.h"
#include "read/kernel_line.h"

typedef enum KernelVerdict {
        KERNEL_LINE_NOT_NEEDED, /* no gigantic pages are planned, and there is no problem */
        KERNEL_LINE_RUN_TIME,   /* the line cannot provide them as planned; no other problem */
        KERNEL_LINE_SERVES,     /* the line provides them */
        KERNEL_LINE_CHANGE,     /* the line has to be changed */
} KernelVerdict;

/* One pool of gigantic pages. */
typedef struct AdvisedPool {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t planned_pages;
        uint64_t present_pages; /* requested by the line */
        uint64_t found_pages;   /* in the pool now */
        bool is_demotable;      /* the planner may demote free pages of the pool */
        bool is_run_time; /* the line cannot provide them where the plan wants them: reserved at run time */
} AdvisedPool;

typedef struct KernelAdvice {
        KernelVerdict verdict;
        const char *wanted;  /* "hugepagesz=1G hugepages=0:2,1:4"; "": none */
        const char *present; /* the phrases of the line, joined */
        KernelPhrases phrases;
        VEC(AdvisedPool) pools;
        KernelChanges changes;
        Diags problems;
} KernelAdvice;

/* Returns the host as it is after a boot without any huge page: the command line must not depend on the memory that is
 * free today. */
Topology *kernel_args_boot_topology(Arena *arena, const Topology *topology);

/* TOPOLOGY is the present host, with the command line of this boot; PLAN was made for kernel_args_boot_topology(). */
KernelAdvice *kernel_args_advise(Arena *arena, const Config *config, const Topology *topology,
                                 const Plan *plan);

/* Holds "not-needed", "run-time", "serves" and "change". */
extern const char *const kernel_verdict_names[];
