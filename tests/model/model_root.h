/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A Root (host/root.h) that is no directory but the model: kernel files read what the model has at that
 * moment, and writing them is writing to it; all other files lie in memory. So the daemon's own code runs
 * on it, unchanged.
 *
 *     Kernel *kernel = kernel_new("node 0 total=4G free=3G\n");
 *     Root *root = model_root_new(kernel);
 *     root_write_file(root, "/etc/hugeplan.d/10-pg.conf", "[Instance]\nPages=100\n");
 *     Topology *topology = probe_topology(root, arena, NULL);
 *
 * It takes the place of src/host/root.c where model_root.c is among a program's own sources (in meson:
 * `dependencies: kernel_model`): all functions of root.h are defined there, so the linker has no reason to
 * take root.o out of the library. root_is_host() is false, root_open() fails. Who reads and writes is
 * kernel_self(), and /proc/self is that. There are no links. What a write under a memory policy of its own would do
 * (ApplyOperation.is_bound), which apply_perform() does not ask of a host that is none, the test says
 * itself, by kernel_set_policy(kernel_self(kernel), ...) around it.
 *
 * Beside the kernel's there are, to begin with: /proc/cmdline, /proc/sys/kernel/{shmmax,shmall,
 * random/boot_id}, /proc/sys/vm/{min_free_kbytes,hugetlb_shm_group}, and files of transparent huge pages that take only the
 * words they show. */

#include "host/root.h"
#include "model/kernel_model.h"

/* The kernel is the caller's and has to live as long; root_free() frees the rest. NULL: all files are in memory, and
 * there are none to begin with. */
Root *model_root_new(Kernel *kernel);

/* A file of any bytes, in place of what has its path. Nothing is added where the path leads through a file, or is a
 * directory. */
void model_root_add(Root *root, const char *path, const char *bytes, size_t size);

/* Called around what changes something: attributes, files and directories. TEXT is NULL where none is
 * written. Between the daemon's reading and its writing there is time for others: in `before` the test may
 * do to the kernel whatever it likes. */
typedef struct ModelRootHooks {
        void (*before)(void *userdata, const char *path, const char *text);
        void (*after)(void *userdata, const char *path, const char *text, int error);
        void *userdata;
} ModelRootHooks;

void model_root_set_hooks(Root *root, const ModelRootHooks *hooks);

/* How many changes were tried so far. */
uint64_t model_root_changes(const Root *root);

/* The N-th change from now on, counted from 1, is not made and returns ERROR (negative). */
void model_root_fail(Root *root, uint64_t n, int error);

/* How many reads there were; and the N-th from now on, counted from 1, and those after it, TIMES in all,
 * return ERROR (negative). */
uint64_t model_root_reads(const Root *root);
void model_root_fail_reads(Root *root, uint64_t n, uint64_t times, int error);

/* Whatever is at PATH or below cannot be read, until it is NULL. */
void model_root_break(Root *root, const char *path, int error);

/* From the N-th change from now on, counted from 1, nothing is done any more: every function fails with
 * -EIO, as if the process were gone. Then drop what it had in memory, and revive the root for the next. */
void model_root_die(Root *root, uint64_t n);
bool model_root_is_dead(const Root *root);
void model_root_revive(Root *root);
