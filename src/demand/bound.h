/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What Memory=auto may come to. A learned size is what the database's owner says: he is believed as far as the
 * administrator lets him (Memory=auto:64G), and of each node all learned sizes together have a share (AutoMemory=).
 * One rule for the gate's answer, what is kept, and the plan. */

#include "config/config.h"
#include "model/reason.h"
#include "model/topology.h"

/* What all instances with Memory=auto may have of NODE together; UINT64_MAX: how much memory it has is not known. */
uint64_t bound_node_bytes(const HostConfig *host, const Node *node);

/* Why COUNT, as it was learned of INSTANCE, is more than that may come to, whoever else there is: then it is refused to
 * who starts with it, and never kept. REASON_NONE: it may be. */
Reason bound_check(Arena *arena, const Config *config, const InstanceConfig *instance,
                   const Topology *topology, const PageCount *count);
