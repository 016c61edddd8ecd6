/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reads the huge pages used by the units of instances and by the instances' mounts, at one moment. */

#include "host/root.h"
#include "plan/ledger.h"

/* Reads the use of the units that CONFIG or LEDGER names; the result refers to the names in CONFIG and LEDGER. If pages
 * were taken or given back meanwhile, both TOPOLOGY's counts and the use are read again until they are consistent;
 * after several tries is_moving is set, and TOPOLOGY's counts are the later ones. */
HostUse *host_use_read(const Root *root, Arena *arena, const Config *config, const Ledger *ledger,
                       Topology *topology);

/* Reads the use of UNIT again, in case the kernel has begun to count for the unit meanwhile. */
void host_use_read_unit(const Root *root, Arena *arena, HostUse *use, const Topology *topology,
                        const char *unit);

/* Reads what the hugetlb controller counts for GROUP, a unit's control group; false: it does not count for the group.
 * SCRATCH is for texts. */
bool host_use_read_charge(const Root *root, Arena *arena, Arena *scratch, const char *group,
                          uint64_t page_size_bytes, UnitCharge *ret);

/* Returns whether USE, read at THEN a moment ago, needs no second reading: no count differs between THEN and NOW, no
 * unit has started or stopped, and there are no mounts. */
bool host_use_is_current(const Root *root, const HostUse *use, const Topology *then,
                         const Topology *now);
