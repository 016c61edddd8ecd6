/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Finds the processes of a host that have huge pages mapped or in use. Only reads.
 *
 * Everyone may read the first pass (status, cgroup and the counters of control groups), so that a gate without rights
 * can still name the users of pages. Details of a process (maps, numa_maps) need the right to trace it; without that
 * right, rows are lower bounds. numa_maps walks all page tables of a process, so that it is read for few processes, and
 * never in a loop. */

#include "host/root.h"
#include "status/page_users.h"

/* Never fails: processes that cannot be read or end meanwhile are missing. TOPOLOGY should be fresh. */
PageUsers *page_users_find(const Root *root, Arena *arena, const Topology *topology);

/* Returns the hugetlb controller's counts for GROUP, a path of the unified hierarchy that belongs to UNIT (NULL: none):
 * one entry per page size of TOPOLOGY that is counted. Reads a few small files that everyone may read. */
UnitCharges page_charges_read(const Root *root, Arena *arena, const Topology *topology,
                              const char *group, const char *unit);
