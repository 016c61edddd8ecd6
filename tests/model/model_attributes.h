/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The kernel's files: one row with the functions that read and write it for each path. */

#include "model/kernel_state.h"

/* The values of the variable parts of a path. */
typedef struct Where {
        const Kernel *kernel;
        Arena *arena; /* of the text that is read */
        unsigned node;
        bool is_on_node;
        Size *size;
        const KernelProcess *process;
} Where;

typedef char *ReadFunction(const Where *where);
typedef int WriteFunction(Kernel *kernel, const KernelProcess *writer, const Where *where,
                          const char *text);

typedef struct Attribute {
        const char *path; /* with parts "node%", "hugepages-%kB", "%" for a process */
        ReadFunction *read;
        WriteFunction *write;
        bool (*exists)(const Where *where);
} Attribute;

extern const Attribute kernel_attributes[];
extern const size_t n_kernel_attributes;
