/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The model's files: what /sys, /proc and the control groups read at this moment, and what a write to
 * them does. Paths and formats are the kernel's own, as far as hugeplan reads them. */

#include "base/vec.h"
#include "model/kernel_model.h"

typedef enum KernelFileKind {
        KERNEL_FILE_NONE,
        KERNEL_FILE_ATTRIBUTE,
        KERNEL_FILE_DIRECTORY,
} KernelFileKind;

typedef VEC(char *) KernelNames;

KernelFileKind kernel_file_kind(const Kernel *kernel, const char *path);

/* -ENOENT, -EISDIR; -EACCES for what can only be written. */
int kernel_file_read(const Kernel *kernel, Arena *arena, const char *path, char **ret);

/* One write(2) of the whole text by WRITER, who may be NULL: 0, or what the kernel says. */
int kernel_file_write(Kernel *kernel, const KernelProcess *writer, const char *path,
                      const char *text);

/* What is in a directory, in any order, some of it perhaps twice. */
void kernel_file_list(const Kernel *kernel, Arena *arena, const char *path, KernelNames *names);

/* mkdir(2) of control groups; -ENOENT for what cannot be one. */
int kernel_file_make_directory(Kernel *kernel, const char *path);

/* The mount that has this very path; NULL: none. */
const KernelMount *kernel_mount_at(const Kernel *kernel, const char *path);
/* Blocks of statfs(2): all and free ones; 0 and 0 where the mount has no limits. */
void kernel_mount_blocks(const KernelMount *mount, uint64_t *ret_bytes, uint64_t *ret_blocks,
                         uint64_t *ret_free);
