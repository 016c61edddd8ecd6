/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A kernel command line, understood as the kernel understands what it says about huge pages.
 *
 * Sources: lib/cmdline.c next_arg(); kernel/params.c ("-" is "_", "--" ends it); mm/hugetlb.c
 * hugepagesz_setup(), hugepages_setup(), default_hugepagesz_setup(), hugetlb_init();
 * mm/huge_memory.c setup_transparent_hugepage(). The kernel drops what it does not understand with
 * a line in its log that nobody reads; here each of these is a problem with a remedy. */

#include "base/diag.h"
#include "model/topology.h"

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
        bool is_default_size;     /* no size was named before it */
        bool is_per_node;         /* and the kernel knows what that means */
        uint64_t pages;           /* over all nodes */
        NodePages *nodes;         /* when is_per_node */
        size_t n_nodes;
} KernelPages;

/* One thing to be done to a command line. */
typedef struct KernelChange {
        const char *from; /* NULL: add `to` */
        const char *to;   /* NULL: take `from` out */
        bool is_unclear;  /* `from` has to be fixed by who knows what was meant; `to` is NULL */
} KernelChange;

typedef VEC(KernelChange) KernelChanges;

/* A command line, understood. */
typedef struct KernelLine {
        KernelArguments arguments;
        VEC(KernelPages) pages; /* what the kernel takes; what it drops is in `problems` */
        VEC(const char *)
        phrases;               /* all that matters here: "hugepagesz=1G hugepages=4", "numa=off" */
        Diags problems;        /* `key` holds the words in question */
        KernelChanges repairs; /* of what is an error */
} KernelLine;

/* FILE is where the line stands, for the problems; it is judged against the nodes and page sizes of
 * TOPOLOGY. */
KernelLine *kernel_line_read(Arena *arena, const char *line, const char *file,
                             const Topology *topology);

/* The argument of that name ("_" for "-"); NULL where there is none. */
const KernelArgument *kernel_argument_find(const KernelArguments *arguments, const char *name);

/* What one PMD maps, and what the kernel takes for the default size unless it is told otherwise; 0: not known. Pages
 * larger than this are gigantic. Where the base page is not known it is taken to be the default size of this boot. */
uint64_t kernel_line_pmd_bytes(const Topology *topology);

/* The size that a phrase names by hugepagesz=; 0 where it names none. */
uint64_t kernel_phrase_size_bytes(const char *phrase);

/* A number as the kernel and its sysctls read it (base 0: decimal, octal, hexadecimal), followed by
 * anything; -EINVAL where there is none, -ERANGE where it does not fit. */
int kernel_number_parse(const char *string, uint64_t *ret, const char **ret_rest);

/* Whether an argument of that name is read, or looks like one that is. */
bool kernel_line_has(Arena *arena, const char *name);
