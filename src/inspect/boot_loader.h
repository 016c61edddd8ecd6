/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Finds the boot loader of a host by the files that are there. Only reads, never the firmware. */

#include "check/boot/boot_steps.h"
#include "host/root.h"

/* Never fails; what cannot be read (often for want of rights) is not known. TOPOLOGY gives the
 * running kernel's release. */
BootLoader boot_loader_find(const Root *root, Arena *arena, const Topology *topology);
