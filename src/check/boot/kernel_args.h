/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the kernel command line should say so that the plan's gigantic pages are there from the
 * start, and what has to be changed for that.
 *
 * Gigantic pages (1G on x86) need stretches of memory that nobody has touched, so that the command
 * line is the one place where they are sure. hugeplan prints what to write and never edits. */

#include "plan/plan.h"
#include "read/kernel_line.h"

typedef enum KernelVerdict {
        KERNEL_LINE_NOT_NEEDED, /* the plan has no gigantic pages, and nothing is wrong */
        KERNEL_LINE_RUN_TIME,   /* the kernel cannot be told which nodes; nothing else is wrong */
        KERNEL_LINE_SERVES,     /* the line gives them */
        KERNEL_LINE_CHANGE,     /* it has to be changed */
} KernelVerdict;

/* One pool of gigantic pages. */
typedef struct KernelPool {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t planned_pages;
        uint64_t present_pages; /* as the line asks for */
        uint64_t found_pages;   /* in the pool now */
        bool is_run_time; /* the kernel would spread them, too far from the plan: not its task */
} KernelPool;

typedef struct KernelArgsInput {
        const Config *config;
        const Topology *topology; /* as it is now, with the command line of this boot */
        const Plan *plan;         /* made for kernel_args_boot_topology() */
} KernelArgsInput;

typedef struct KernelAdvice {
        KernelVerdict verdict;
        const char *wanted;  /* "hugepagesz=1G hugepages=0:2,1:4"; "" when nothing is */
        const char *present; /* the phrases of the line, joined */
        VEC(const char *) phrases;
        VEC(KernelPool) pools;
        KernelChanges changes;
        Diags problems;
} KernelAdvice;

/* The host as it is when it has just booted without any huge page: what the command line has to
 * serve does not depend on what is free today. */
Topology *kernel_args_boot_topology(Arena *arena, const Topology *topology);

KernelAdvice *kernel_args_advise(Arena *arena, const KernelArgsInput *input);

/* "not-needed", "run-time", "serves", "change". */
extern const char *const kernel_verdict_names[];
