/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The probe: reads a host's files into a Topology. Only reads. */

#include "host/root.h"
#include "model/topology.h"

/* What one of the kernel's files says (PATH_CMDLINE, PATH_BOOT_ID, PATH_HOST_NAME); "" where it cannot be read. */
const char *probe_text(const Root *root, Arena *arena, const char *path);

/* Bytes of all page tables of the host, by /proc/meminfo; 0: not known. */
uint64_t probe_page_tables(const Root *root, Arena *arena);

/* Never fails: what cannot be read is missing from the topology (no page sizes where the kernel
 * has no hugetlb; node 0 for the whole host where it has no NUMA). */
Topology *probe_topology(const Root *root, Arena *arena);

/* The same host as it was KNOWN a while ago: nodes and pools, their counts and the policy of transparent huge
 * pages are read, all that a status is judged by; the nodes' memory, and what only reads of the kernel's make
 * another, are as they were known. All is read where a node or a pool has come or gone. */
Topology *probe_topology_again(const Root *root, Arena *arena, const Topology *known);

/* The page sizes alone, which is all there is to know for mount units. */
Topology *probe_page_sizes(const Root *root, Arena *arena);

/* The bytes of a name like "hugepages-2048kB"; 0: it is no such name. */
uint64_t probe_size_of_name(Arena *arena, const char *name);

/* Fresh counts of one page size over all nodes; SIZE->bytes says which. */
void probe_page_size(const Root *root, PageSize *size);

/* The bytes of a line "KEY: 123 kB" of TEXT, also with "Node 0 " in front as the nodes' own files have
 * it; 0: there is none. */
uint64_t probe_meminfo(Arena *arena, const char *text, const char *key);

/* Fresh counts of one pool, and of its node's memory; for use between writes. -ENOENT when the
 * node or the pool has gone. */
int probe_pool(const Root *root, const Topology *topology, unsigned node, uint64_t page_size_bytes,
               Pool *ret);

/* Reads the counts of all pools anew; whether any is another one. */
bool probe_counts_again(const Root *root, Topology *topology);

int probe_node_memory(const Root *root, const Topology *topology, Node *node);
