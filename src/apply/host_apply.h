/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Writes besides the pools: the settings of a plan, and the guard. */

#include "host/root.h"
#include "plan/host_plan.h"

/* Restores vm.min_free_kbytes, which the kernel changes when transparent huge pages are switched (khugepaged.c,
 * set_recommended_min_free_kbytes()). Returns the first error, with its path in *RET_PATH; the other files are
 * written nevertheless. */
int host_writes_apply(const Root *root, const HostWrites *writes, const char **ret_path);

/* The guard: our file in /run/sysctl.d, which keeps systemd-sysctl from moving pages between nodes.
 *
 * If any file of sysctl.d sets vm.nr_hugepages, each restart of systemd-sysctl, such as by package triggers, writes the
 * count again, and the kernel then moves pages between nodes. systemd-sysctl writes only the last value of a key; the
 * guard is read last and has the present sum of the pools, so that the write changes nothing (measured). Programs that
 * write every line in turn, such as procps' `sysctl --system`, still move pages before they reach the guard. */

/* Returns the contents of the guard for PAGES. */
char *guard_text(Arena *arena, uint64_t pages);

/* Writes the guard for PAGES of the default size over all nodes, unless it has these contents already.
 * Returns 0 or a negative errno. */
int guard_write(const Root *root, uint64_t pages);

/* Removes the guard; returns 0 also if there is none. */
int guard_remove(const Root *root);
