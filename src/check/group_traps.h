/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Control groups that are traps: their limit of huge pages counts when a page is touched
 * (hugetlb.SIZE.max), and nothing limits what is reserved (hugetlb.SIZE.rsvd.max). A program in such a
 * group is promised all the pages that the host has free, and is killed by SIGBUS when it touches them.
 * That is what became of PostgreSQL in containers, initdb included, once a host had huge pages: container
 * runtimes (runc before 1.1.10) set the first file only. Sources: hugetlb in
 * Documentation/admin-guide/cgroup-v2.rst; the OCI runtime specification, "Huge page limits". */

#include "check/host_facts.h"

/* Those below HIERARCHY, by their hugetlb.SIZE.max; what cannot be read is none. */
GroupLimits group_traps_find(Arena *arena, const Sources *sources, const char *hierarchy,
                             const Topology *topology);
