/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Finds the boot loader of a host, the command line that its next boot gets, and the settings from
 * which that is made. Only reads, never the firmware. */

#include "check/boot_entry.h"
#include "host/root.h"

/* Never fails; what cannot be read (often for want of rights) is not known. TOPOLOGY gives the
 * running kernel's release. */
BootLoader boot_loader_find(const Root *root, Arena *arena, const Topology *topology);
