/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The guard: our own file in /run/sysctl.d, which keeps systemd-sysctl from moving pages.
 *
 * Whoever starts systemd-sysctl again (packages do, by triggers) has it write vm.nr_hugepages once
 * more, if any file of sysctl.d sets it, and the kernel then moves pages between nodes. It writes
 * only the last value of a key; the guard is read last and holds the sum that the pools have, which
 * is a write that changes nothing. Programs that write every line in turn, such as procps'
 * `sysctl --system`, still do harm on the way there. */

#include "host/root.h"

/* It comes last, and setting the sum that the pools hold already changes nothing (measured). */
char *guard_text(Arena *arena, uint64_t pages);

/* Writes the guard for PAGES of the default size over all nodes; does nothing when it says so
 * already. Negative errno. */
int guard_write(const Root *root, uint64_t pages);

/* Removes it; no error when there is none. */
int guard_remove(const Root *root);
