/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The probe: reads a host's files into a Topology. It writes nothing. */

#include "config/config.h"
#include "host/root.h"
#include "model/topology.h"

/* Returns the contents of a file of the kernel (PATH_CMDLINE, PATH_BOOT_ID, PATH_HOST_NAME); "": it cannot be read. */
const char *probe_text(const Root *root, Arena *arena, const char *path);

/* Returns whether KERNEL_SWITCH_OFF is on the kernel command line. */
bool probe_is_switched_off(const Root *root);

/* Returns the bytes of all page tables of the host, from /proc/meminfo; 0: not known. */
uint64_t probe_page_tables(const Root *root, Arena *arena);

/* Never fails: whatever cannot be read is missing from the topology (no page sizes if the kernel has no
 * hugetlb; node 0 for the whole host if it has no NUMA). Settings that a plan for CONFIG does not depend on (of transparent
 * huge pages, if they are kept; limits on System V segments, if no instance has any) are not read, unless CONFIG is NULL. */
Topology *probe_topology(const Root *root, Arena *arena, const Config *config);

/* Reads again what a status depends on: nodes, pools, their counts and the policy of transparent huge pages. The rest,
 * such as the nodes' memory, is copied from KNOWN, an earlier topology of this host. Reads everything if a node or a
 * pool was added or removed. */
Topology *probe_topology_again(const Root *root, Arena *arena, const Config *config,
                               const Topology *known);

/* Reads again how much memory is free and may be committed. */
void probe_memory_again(const Root *root, Topology *topology);

/* Reads the page sizes without their counts, which suffice for mount units. */
Topology *probe_page_sizes(const Root *root, Arena *arena);

/* Returns the bytes of a name such as "hugepages-2048kB", or 0 for any other name. */
uint64_t probe_size_of_name(Arena *arena, const char *name);

/* Returns the bytes of the line "KEY: 123 kB" in TEXT, also with "Node 0 " in front as in the nodes' files,
 * or 0 if there is no such line. */
uint64_t probe_meminfo(Arena *arena, const char *text, const char *key);

/* Reads the counts of one pool, for use between writes. Returns -ENOENT if the node or the pool was removed. */
int probe_pool(const Root *root, const Topology *topology, unsigned node, uint64_t page_size_bytes,
               Pool *ret);

/* Reads the counts of all pools again, and sets *RET_IS_CHANGED if any has changed. Returns false if a pool was removed. */
bool probe_counts(const Root *root, Topology *topology, bool *ret_is_changed);

int probe_node_memory(const Root *root, const Topology *topology, Node *node);
