/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The kernel command line: what it says about huge pages, what is wrong with it, and what it should
 * say so that the plan's gigantic pages are there from the start.
 *
 * Read as the kernel reads it: lib/cmdline.c next_arg(), kernel/params.c ("-" is "_", "--" ends it),
 * mm/hugetlb.c hugepagesz_setup(), hugepages_setup(), default_hugepagesz_setup(), mm/huge_memory.c
 * setup_transparent_hugepage(). Gigantic pages are those larger than a PMD maps (1G on x86): they
 * need memory that nobody has touched, so that the command line is the place where they are sure.
 * A pure value: nothing here reads or writes a file. */

#include "core/plan.h"

typedef struct KernelArgument {
        const char *word;  /* as written */
        const char *name;  /* what stands before "=", with "_" for "-" */
        const char *value; /* what follows it, without quotes; NULL: nothing does */
} KernelArgument;

typedef VEC(KernelArgument) KernelArguments;

/* What one hugepages= asks for, after the kernel's rules. */
typedef struct KernelPages {
        const char *words;        /* "hugepagesz=1G hugepages=4" */
        uint64_t page_size_bytes; /* of the hugepagesz= before it, else the default size */
        bool is_per_node;
        uint64_t pages;   /* over all nodes */
        NodePages *nodes; /* when is_per_node */
        size_t n_nodes;
} KernelPages;

/* A command line, understood. */
typedef struct KernelLine {
        KernelArguments arguments;
        VEC(KernelPages) pages;  /* what the kernel takes; what it drops is in `problems` */
        VEC(char *) phrases;     /* all that concerns memory: "hugepagesz=1G hugepages=4", "numa=off" */
        Diags problems;          /* `key` holds the words in question */
        VEC(const char *) wrong; /* phrases that have to go, or to be put right */
} KernelLine;

/* One thing to be done to a command line. */
typedef struct KernelChange {
        const char *from; /* NULL: add `to` */
        const char *to;   /* NULL: take `from` out */
} KernelChange;

typedef VEC(KernelChange) KernelChanges;

typedef enum KernelVerdict {
        KERNEL_LINE_NOT_NEEDED, /* the plan has no gigantic pages, and nothing is wrong */
        KERNEL_LINE_SERVES,     /* the present line gives them */
        KERNEL_LINE_REBOOT,     /* the next boot's line will */
        KERNEL_LINE_CHANGE,     /* it has to be changed */
} KernelVerdict;

/* One pool of gigantic pages. */
typedef struct KernelPool {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t planned_pages;
        uint64_t present_pages; /* as the present line asks for */
        uint64_t next_pages;    /* as the next boot's line does */
        uint64_t found_pages;   /* in the pool now */
} KernelPool;

typedef struct KernelArgsInput {
        const Config *config;
        const Topology *topology;    /* as it is now, with the present command line */
        const Plan *plan;            /* made for kernel_args_boot_topology() */
        const char *next_line;       /* of the entry that will boot next; NULL: not known */
        const char *next_file;       /* where that stands */
} KernelArgsInput;

typedef struct KernelAdvice {
        KernelVerdict verdict;
        const char *wanted;  /* "hugepagesz=1G hugepages=0:2,1:4"; "" when nothing is */
        const char *present; /* the phrases of the present line */
        const char *next;    /* of the next; NULL: not known */
        VEC(KernelPool) pools;
        KernelChanges changes; /* to the next line, or the present one where that is not known */
        Diags problems;
} KernelAdvice;

/* The host as it is when it has just booted without any huge page: what the command line has to
 * serve does not depend on what is free today. */
Topology *kernel_args_boot_topology(Arena *arena, const Topology *topology);

/* Sizes above this are gigantic. */
uint64_t kernel_args_gigantic_above(const Topology *topology);

KernelArguments kernel_arguments_parse(Arena *arena, const char *line);

/* FILE is where the line stands, for the problems. */
KernelLine *kernel_line_read(Arena *arena, const char *line, const char *file,
                             const Topology *topology);

KernelAdvice *kernel_args_advise(Arena *arena, const KernelArgsInput *input);

/* "not-needed", "serves", "reboot", "change". */
const char *kernel_verdict_name(KernelVerdict verdict);

/* A number as the kernel and its sysctls read it (base 0: decimal, octal, hexadecimal), followed by
 * anything; -EINVAL where there is none, -ERANGE where it does not fit. */
int kernel_number_parse(const char *string, uint64_t *ret, const char **ret_rest);
