/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The boot guard on disk: on the root file system, for early boot has no other. */

#include "host/root.h"
#include "plan/boot_guard.h"

/* An open guard where there is none, or it is broken. */
BootGuard *boot_guard_load(const Root *root, Arena *arena);

/* For who decides something for the whole boot, or is about to save it: negative errno (and a fault of ROOT)
 * where what is there cannot be read, though it was tried again. */
int boot_guard_try_load(const Root *root, Arena *arena, BootGuard **ret);

/* On disk when it returns; negative errno. */
int boot_guard_save(const Root *root, const BootGuard *guard);
