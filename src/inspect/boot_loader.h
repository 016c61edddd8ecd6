/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Finds the boot loader of a host by the existing files. Only reads, and never accesses the firmware. */

#include "check/boot/boot_steps.h"
#include "host/root.h"

/* Never fails; what cannot be read (often for lack of permission) counts as unknown. */
BootLoader boot_loader_find(const Root *root, Arena *arena);
