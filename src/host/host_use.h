/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the units of instances use of the huge pages, and the instances' own mounts, at one moment. */

#include "host/root.h"
#include "promise/ledger.h"

/* Of the units that CONFIG names, and of those that LEDGER knows to run. Names are those of CONFIG and
 * LEDGER. The counts of TOPOLOGY's pools are read anew where pages were taken or given back meanwhile, so
 * that they belong together; if that does not end, they are the later ones. */
HostUse *host_use_read(const Root *root, Arena *arena, const Config *config, const Ledger *ledger,
                       Topology *topology);

/* Anew for UNIT, for which the kernel may have begun to count since. */
void host_use_read_unit(const Root *root, Arena *arena, HostUse *use, const Topology *topology,
                        const char *unit);

/* Whether nothing shows that it is another by NOW, a moment after THEN: no count has changed, no unit has started or
 * stopped, and there are no mounts. For who has just read it, and would do so once more. */
bool host_use_is_current(const Root *root, const HostUse *use, const Topology *then,
                         const Topology *now);
