/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The memory policy of a unit's drop-in, so that the unit takes its pages where they are planned, and no other unit's.
 *  - Placement=bind and interleave are the policy themselves.
 *  - An instance that is spread needs no policy as long as no other has one: any of the pool's pages will do for it.
 *    Beside a bound instance that does not hold: the kernel gives a process the pages of its own node first, so it
 *    would take those that the bound one depends on. So it interleaves over its nodes, as its pages are planned. */

#include "config/config.h"
#include "model/memory_policy.h"
#include "model/reason.h"
#include "model/topology.h"

/* Returns UNIT's policy; MEMORY_POLICY_ANY: the drop-in has none. A policy holds for all of a unit's processes: there
 * is one only if its instances agree. For all nodes the set is full. */
MemoryPolicy unit_policy(const Config *config, const char *unit);

/* Returns the bound instance (the first by name) for whose sake UNIT interleaves, not by its own preference; NULL:
 * there is none. */
const InstanceConfig *unit_policy_neighbour(const Config *config, const char *unit);

/* Returns whether two instances may take pages of one size. */
bool instances_share_page_size(const InstanceConfig *a, const InstanceConfig *b);

/* Returns the nodes of Nodes=, or else of NodeMemory=; ALL if neither names any. */
IdSet instance_named_nodes(const InstanceConfig *instance, const IdSet *all);

/* Returns how many page sizes INSTANCE would take; *RET is in ARENA. A size that the host does not have is left out
 * here; the demand reports it. */
size_t instance_page_sizes(Arena *arena, const InstanceConfig *instance, const Topology *topology,
                           const uint64_t **ret);

/* ---- the bounds of Memory=auto ---- */

/* A learned size is the word of the database's owner: it is believed as far as the
 * administrator allows (Memory=auto:64G), and of each node all learned sizes together have a share (AutoMemory=). The
 * gate's answer, what is kept, and the plan follow the same rule. */

/* Returns what all instances with Memory=auto may have of NODE together; UINT64_MAX if its memory is not known. */
uint64_t bound_node_bytes(const HostConfig *host, const Node *node);

/* Returns why COUNT, which was learned of INSTANCE, exceeds a bound, whatever other instances there are: a start with
 * it is refused, and it is never kept. REASON_NONE: it is within bounds. */
Reason bound_check(Arena *arena, const Config *config, const InstanceConfig *instance,
                   const Topology *topology, const PageCount *count);
