/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The model's files in /sys, /proc and the control groups, as far as hugeplan reads and writes them. Paths and formats
 * are the kernel's. */

#include "base/vec.h"
#include "model/kernel_model.h"

typedef enum KernelFileKind {
        KERNEL_FILE_NONE,
        KERNEL_FILE_ATTRIBUTE,
        KERNEL_FILE_DIRECTORY,
} KernelFileKind;

typedef VEC(char *) KernelNames;

KernelFileKind kernel_file_kind(const Kernel *kernel, const char *path);

/* Returns -ENOENT, -EISDIR, or -EACCES for a file that can only be written. */
int kernel_file_read(const Kernel *kernel, Arena *arena, const char *path, char **ret);

/* One write(2) of the whole text by WRITER, which may be NULL. Returns 0 or the kernel's negative errno. */
int kernel_file_write(Kernel *kernel, const KernelProcess *writer, const char *path,
                      const char *text);

/* Lists a directory in any order. A name may occur twice. */
void kernel_file_list(const Kernel *kernel, Arena *arena, const char *path, KernelNames *names);

/* mkdir(2) of a control group; -ENOENT for other paths. */
int kernel_file_make_directory(Kernel *kernel, const char *path);

/* The mount at exactly this path; NULL: none. */
const KernelMount *kernel_mount_at(const Kernel *kernel, const char *path);
/* The total and free blocks of statfs(2); both are 0 if the mount has no limits. */
void kernel_mount_blocks(const KernelMount *mount, uint64_t *ret_bytes, uint64_t *ret_blocks,
                         uint64_t *ret_free);
