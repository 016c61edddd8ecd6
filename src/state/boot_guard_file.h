/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The boot guard's files: on the root file system, the only one that early boot has. */

#include "host/root.h"
#include "plan/boot_guard.h"

/* Returns the guard on disk, or an open one if there is none. */
BootGuard *boot_guard_load(const Root *root, Arena *arena);

/* Loads the guard for a decision on the whole boot, or before it is saved: returns a negative errno (and sets ROOT's
 * fault) if the files cannot be read after several tries. */
int boot_guard_try_load(const Root *root, Arena *arena, BootGuard **ret);

/* Both write to disk; negative errno on failure. The count needs no space on a disk that holds one already. */
int boot_count_save(const Root *root, Arena *arena, BootGuard *guard);
int boot_proven_save(const Root *root, const BootGuard *guard);
