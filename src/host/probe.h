/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The probe: reads a host's files into a Topology. Only reads. */

#include "host/root.h"
#include "model/topology.h"

/* The kernel command line alone; "" where it cannot be read. */
const char *probe_kernel_command_line(const Root *root, Arena *arena);

/* The identifier of this boot alone; "" where it cannot be read. */
const char *probe_boot_id(const Root *root, Arena *arena);

/* Never fails: what cannot be read is missing from the topology (no page sizes where the kernel
 * has no hugetlb; node 0 for the whole host where it has no NUMA). */
Topology *probe_topology(const Root *root, Arena *arena);

/* Fresh counts of one pool, and of its node's memory; for use between writes. -ENOENT when the
 * node or the pool has gone. */
int probe_pool(const Root *root, const Topology *topology, unsigned node, uint64_t page_size_bytes,
               Pool *ret);

/* Reads the counts of all pools anew; whether any is another one. */
bool probe_counts_again(const Root *root, Topology *topology);

int probe_node_memory(const Root *root, const Topology *topology, Node *node);

/* Where an attribute of a pool, or of a node ("compact"), is: below the node, or for the whole host
 * where there is no NUMA. */
char *probe_pool_path(Arena *arena, const Topology *topology, unsigned node,
                      uint64_t page_size_bytes, const char *attribute);
char *probe_node_path(Arena *arena, unsigned node, const char *attribute);
