/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The memory policy that a unit gets from its drop-in, so that it takes its pages where they are
 * planned, and nobody else's.
 *
 *  - Placement=bind and interleave say so themselves.
 *  - An instance that is spread has no need of a policy as long as nobody else has: any of the pool's
 *    pages will do for it. Beside one that is bound that is no longer so: the kernel gives a process
 *    the pages of its own node first, so it would take those that the other one depends on. So it is
 *    made to take its pages from its nodes in turn, as they are planned. */

#include "config/config.h"
#include "model/memory_policy.h"

/* MEMORY_POLICY_ANY: the drop-in says nothing of it. A policy holds for all of a unit's processes: there
 * is one only where its instances agree. Where all nodes are meant the set is full. */
MemoryPolicy unit_policy(const Config *config, const char *unit);

/* Whether UNIT takes its pages in turn for the sake of a neighbour, not by its own preference; who that is
 * (the first by name), NULL: nobody. */
const InstanceConfig *unit_policy_neighbour(const Config *config, const char *unit);

/* Whether two instances may take pages of one size. */
bool instances_share_page_size(const InstanceConfig *a, const InstanceConfig *b);

/* Nodes= and NodeMemory= as one set; ALL where neither names any. */
IdSet instance_named_nodes(const InstanceConfig *instance, const IdSet *all);
