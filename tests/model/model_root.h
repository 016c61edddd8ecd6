/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A Root (host/root.h) on the model instead of a directory: the kernel's files read and write the model, and all other
 * files are in memory. The daemon's code runs on it unchanged.
 *
 *     Kernel *kernel = kernel_new("node 0 total=4G free=3G\n");
 *     Root *root = model_root_new(kernel);
 *     root_write_file(root, "/etc/hugeplan.d/10-pg.conf", "[Instance]\nPages=100\n");
 *     Topology *topology = probe_topology(root, arena, NULL);
 *
 * model_root.c replaces src/host/root.c in a program that has it among its own sources (in meson: `dependencies:
 * kernel_model`). It defines all functions of root.h, so the linker does not take root.o from the library.
 * root_is_host() is false, and root_open() fails. kernel_self() reads and writes, and is /proc/self. There are no links,
 * but root_read_link() returns the text of files at PATH_SYSTEMD_RUN.
 * apply_perform() sets no memory policy for a write here (ApplyOperation.is_bound); a test calls
 * kernel_set_policy(kernel_self(kernel), ...) instead.
 *
 * At first there are, besides the kernel's files: /proc/cmdline, /proc/sys/kernel/{shmmax,shmall,random/boot_id},
 * /proc/sys/vm/{min_free_kbytes,hugetlb_shm_group}, and files of transparent huge pages, which accept only the words that
 * they show. */

#include "host/root.h"
#include "model/kernel_model.h"

/* KERNEL is not freed by root_free(), and must outlive the root. NULL: all files are in memory, and there are none at
 * first. */
Root *model_root_new(Kernel *kernel);

/* Adds or replaces a file of any bytes. Does nothing if the path is a directory, or leads through a file. */
void model_root_add(Root *root, const char *path, const char *bytes, size_t size);

/* Called around each change of an attribute, file or directory. TEXT is NULL if none is written. In `before` a test can
 * change the kernel as other processes can between the daemon's reads and its write. */
typedef struct ModelRootHooks {
        void (*before)(void *userdata, const char *path, const char *text);
        void (*after)(void *userdata, const char *path, const char *text, int error);
        void *userdata;
} ModelRootHooks;

void model_root_set_hooks(Root *root, const ModelRootHooks *hooks);

/* The number of reads. From the N-th read from now on, counted from 1, TIMES reads fail with ERROR (negative). */
uint64_t model_root_reads(const Root *root);
void model_root_fail_reads(Root *root, uint64_t n, uint64_t times, int error);

/* Reads at and below PATH fail with ERROR. NULL: no longer. */
void model_root_break(Root *root, const char *path, int error);

/* Files at and below PATH cannot be written: -ENOSPC. NULL: no longer. */
void model_root_fill(Root *root, const char *path);

/* From the N-th change from now on, counted from 1, every function fails with -EIO, as if the process were killed. Then
 * free what it had in memory, and revive the root for its successor. */
void model_root_die(Root *root, uint64_t n);
bool model_root_is_dead(const Root *root);
void model_root_revive(Root *root);
