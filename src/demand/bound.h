/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The bounds of Memory=auto. A learned size is the word of the database's owner: it is believed as far as the
 * administrator allows (Memory=auto:64G), and of each node all learned sizes together have a share (AutoMemory=). The
 * gate's answer, what is kept, and the plan follow the same rule. */

#include "config/config.h"
#include "model/reason.h"
#include "model/topology.h"

/* Returns what all instances with Memory=auto may have of NODE together; UINT64_MAX if its memory is not known. */
uint64_t bound_node_bytes(const HostConfig *host, const Node *node);

/* Returns why COUNT, which was learned of INSTANCE, exceeds a bound, whatever other instances there are: a start with
 * it is refused, and it is never kept. REASON_NONE: it is within bounds. */
Reason bound_check(Arena *arena, const Config *config, const InstanceConfig *instance,
                   const Topology *topology, const PageCount *count);
