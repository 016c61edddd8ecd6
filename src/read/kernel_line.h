/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A kernel command line: its arguments about huge pages, interpreted as the kernel interprets them.
 *
 * Sources: lib/cmdline.c next_arg(); kernel/params.c ("-" is "_", "--" ends it); mm/hugetlb.c hugepagesz_setup(),
 * hugepages_setup(), default_hugepagesz_setup(), hugetlb_init(); mm/huge_memory.c setup_transparent_hugepage(). The
 * kernel drops invalid arguments with a line in its log that is easily overlooked; here each of them is a problem with
 * a remedy. */

#include "base/diag.h"
#include "model/topology.h"

typedef struct KernelArgument {
        const char *word;  /* as written */
        const char *name;  /* the part before "=", with "_" for "-" */
        const char *value; /* the part after "=", without quotes; NULL: no "=" */
} KernelArgument;

typedef VEC(KernelArgument) KernelArguments;

/* What one hugepages= asks for, by the kernel's rules. */
typedef struct KernelPages {
        const char *words;        /* "hugepagesz=1G hugepages=4" */
        uint64_t page_size_bytes; /* of the preceding hugepagesz=, else the default size */
        bool is_default_size;     /* no size precedes it */
        uint64_t pages;           /* over all nodes */
        PagesByNode nodes;        /* as written; empty: one number for all nodes */
} KernelPages;

/* Relevant words that belong together. */
typedef struct KernelPhrase {
        const char *words;        /* "hugepagesz=1G hugepages=4", "numa=off" */
        uint64_t page_size_bytes; /* that hugepagesz= names; 0: none */
} KernelPhrase;

typedef VEC(KernelPhrase) KernelPhrases;

/* One change to a command line. */
typedef struct KernelChange {
        const char *from; /* NULL: add `to` */
        const char *to;   /* NULL: remove `from` */
        bool is_unclear;  /* only the administrator can fix `from`; `to` is NULL */
} KernelChange;

typedef VEC(KernelChange) KernelChanges;

/* An interpreted command line. */
typedef struct KernelLine {
        KernelArguments arguments;
        VEC(KernelPages) pages; /* what the kernel accepts; `problems` has what it drops */
        KernelPhrases phrases;  /* of all relevant words */
        Diags problems;         /* `key` is the words concerned */
        KernelChanges repairs;  /* of the errors */
} KernelLine;

/* Reads LINE, which is in FILE (for problems), and checks it against the nodes and page sizes of TOPOLOGY. */
KernelLine *kernel_line_read(Arena *arena, const char *line, const char *file,
                             const Topology *topology);

/* Returns the argument of that name ("_" for "-"), or NULL if there is none. */
const KernelArgument *kernel_argument_find(const KernelArguments *arguments, const char *name);

/* Returns the bytes that one PMD maps, which is the kernel's default size unless configured otherwise; 0: not known.
 * Larger pages are gigantic. If the base page size is not known, returns the default size of this boot. */
uint64_t kernel_line_pmd_bytes(const Topology *topology);

/* Returns whether this is POWER, the only architecture with pages of 16M, or of 1G beside base pages of 64K. With hash
 * page tables a partition has pages of 16M, and only those pages of 16G that its firmware provides. */
bool kernel_is_power(const Topology *topology);

/* Returns why the kernel does not support node numbers in hugepages=; NULL: it does, or that is not known. */
const char *kernel_no_node_counts(Arena *arena, const Topology *topology);

/* Parses a number as the kernel and its sysctls do (base 0: decimal, octal, hexadecimal); anything may follow it.
 * Returns -EINVAL if there is no number, -ERANGE if it does not fit. */
int kernel_number_parse(const char *string, uint64_t *ret, const char **ret_rest);

/* Returns whether an argument of that name is read. */
bool kernel_line_has(const char *name);
