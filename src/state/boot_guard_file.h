/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The boot guard on disk: on the root file system, for early boot has no other. */

#include "host/root.h"
#include "plan/boot_guard.h"

/* An open guard where there is none. */
BootGuard *boot_guard_load(const Root *root, Arena *arena);

/* For who decides something for the whole boot, or is about to save it: negative errno (and a fault of ROOT)
 * where what is there cannot be read, though it was tried again. */
int boot_guard_try_load(const Root *root, Arena *arena, BootGuard **ret);

/* Both are on disk when they return; negative errno. The count needs no room on a disk where it was stored before. */
int boot_count_save(const Root *root, Arena *arena, BootGuard *guard);
int boot_proven_save(const Root *root, const BootGuard *guard);
