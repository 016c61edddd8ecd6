/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Looks through the processes of a host for those that hold huge pages. Only reads.
 *
 * Everyone may read the first pass (status, cgroup and the counters of control groups), so that a
 * gate without rights still names who is in its way. What each holds in detail (maps, numa_maps)
 * takes the right to trace the process; where that is missing, rows are lower bounds. numa_maps
 * walks all page tables of a process, so that it is read for few, and never in a loop. */

#include "host/root.h"
#include "status/page_users.h"

/* Never fails: what cannot be read, or goes away meanwhile, is missing. TOPOLOGY should be fresh. */
PageUsers *page_users_find(const Root *root, Arena *arena, const Topology *topology);

typedef VEC(PageUserCharge) PageUserCharges;

/* What the hugetlb controller has counted, in a few small files that everyone may read. Of GROUP, a path of the unified
 * hierarchy, which is that of UNIT (NULL: none): one for each page size of TOPOLOGY that is counted. */
PageUserCharges page_charges_read(const Root *root, Arena *arena, const Topology *topology,
                                  const char *group, const char *unit);
