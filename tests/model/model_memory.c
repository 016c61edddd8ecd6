/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The free memory of nodes.
 *
 * Far simpler than the kernel: free memory is either whole or scattered. All of the whole memory can become huge pages;
 * scattered memory cannot until it is compacted. */
#include "model/kernel_state.h"

#include <stdlib.h>

bool memory_take(Kernel *kernel, unsigned id, const Size *size) {
        MemoryNode *node = &kernel->nodes[id];

        if (!node->has_memory ||
            sub_floored(sub_floored(node->free, node->scattered), node->keep) < size->bytes ||
            (size->is_gigantic && node->gigantic_left == 0))
                return false;
        node->free -= size->bytes;
        if (size->is_gigantic)
                node->gigantic_left--;
        return true;
}

void memory_give(Kernel *kernel, unsigned id, const Size *size) {
        MemoryNode *node = &kernel->nodes[id];

        node->free += size->bytes;
        if (size->is_gigantic && node->gigantic_left < UINT64_MAX)
                node->gigantic_left++;
}

/* Small pages are taken from scattered memory first. */
uint64_t kernel_take_memory(Kernel *kernel, unsigned id, uint64_t bytes) {
        MemoryNode *node = &kernel->nodes[id];
        uint64_t taken = MIN(bytes, node->free);

        node->free -= taken;
        node->others += taken;
        node->scattered = sub_floored(node->scattered, taken);
        node->pinned = MIN(node->pinned, node->scattered);
        return taken;
}

void kernel_give_memory(Kernel *kernel, unsigned id, uint64_t bytes) {
        MemoryNode *node = &kernel->nodes[id];
        uint64_t given = MIN(bytes, node->others);

        node->free += given;
        node->others -= given;
}

/* ---- hotplug ---- */

/* dissolve_free_hugetlb_folios(): free pages go if they are not reserved. The model has no migration. */
int kernel_remove_memory(Kernel *kernel, unsigned id) {
        MemoryNode *node = &kernel->nodes[id];

        if (kernel->memory_nodes == node_bit(id))
                return -EBUSY;
        for (unsigned i = 0; i < kernel->n_sizes; i++) {
                const Size *size = &kernel->sizes[i];

                if (size->free_on[id] < size->n_on[id] ||
                    size->n_free < size->reserved + size->n_on[id])
                        return -EBUSY;
        }
        for (unsigned i = 0; i < kernel->n_sizes; i++) {
                Size *size = &kernel->sizes[i];

                size->n -= size->n_on[id];
                size->n_free -= size->n_on[id];
                size->max -= MIN(size->max, size->n_on[id]);
                size->surplus -= size->surplus_on[id];
                size->n_on[id] = size->free_on[id] = size->surplus_on[id] = 0;
        }
        node->free = node->total;
        node->cache = node->scattered = node->pinned = node->others = 0;
        node->has_memory = false;
        node->exists = node->has_cpus;
        kernel->memory_nodes &= ~node_bit(id);
        return 0;
}

void kernel_add_memory(Kernel *kernel, unsigned id) {
        kernel->nodes[id].exists = kernel->nodes[id].has_memory = true;
        kernel->memory_nodes |= node_bit(id);
}

/* ---- compaction and reclaim ---- */

int kernel_compact(Kernel *kernel, int node) {
        for (unsigned id = 0; id < KERNEL_NODES_MAX; id++)
                if (node == KERNEL_HOST || id == (unsigned) node)
                        kernel->nodes[id].scattered = kernel->nodes[id].pinned;
        return 0;
}

/* The page cache is reclaimed page by page, so the freed memory is scattered. */
static uint64_t reclaim_from(MemoryNode *node, uint64_t bytes) {
        uint64_t got = MIN(bytes, node->cache);

        node->cache -= got;
        node->free += got;
        node->scattered += got;
        return got;
}

int kernel_reclaim(Kernel *kernel, int node, uint64_t bytes) {
        uint64_t left = bytes;

        for (unsigned id = 0; id < KERNEL_NODES_MAX; id++)
                if (node == KERNEL_HOST || id == (unsigned) node)
                        left -= reclaim_from(&kernel->nodes[id], left);
        return left > 0 ? -EAGAIN : 0;
}

void kernel_drop_caches(Kernel *kernel) {
        kernel_reclaim(kernel, KERNEL_HOST, UINT64_MAX);
}

uint64_t kernel_free_bytes(const Kernel *kernel, unsigned node) {
        return node < KERNEL_NODES_MAX ? kernel->nodes[node].free : 0;
}

uint64_t kernel_memory_nodes(const Kernel *kernel) {
        return kernel->memory_nodes;
}

uint64_t kernel_cpu_nodes(const Kernel *kernel) {
        uint64_t nodes = 0;

        for (unsigned node = 0; node < KERNEL_NODES_MAX; node++)
                if (kernel->nodes[node].exists && kernel->nodes[node].has_cpus)
                        nodes |= node_bit(node);
        return nodes;
}

/* ---- the order in which nodes are tried ---- */

/* MAX_NUMNODES of the distributions' kernels; it only has to be more than any load. */
enum { LOAD_MAX = 1024 };

/* find_next_best_node(): the nearest node; of several, one with a higher number first, then the one with the least load.
 * The kernel would prefer nodes without CPUs, but it builds the orders before it assigns CPUs to nodes.
 * KERNEL_NODES_MAX: none is left. */
static unsigned next_best_node(const Kernel *kernel, unsigned from, uint64_t used,
                               const unsigned *loads) {
        uint64_t best_value = UINT64_MAX;
        unsigned best = KERNEL_NODES_MAX;

        if (!(used & node_bit(from)))
                return from;
        NODES_FOREACH(node, kernel->memory_nodes & ~used) {
                uint64_t value = kernel->nodes[from].distance[node];

                value += node < from;
                value = value * LOAD_MAX + loads[node];
                if (value < best_value) {
                        best_value = value;
                        best = node;
                }
        }
        return best;
}

/* build_zonelists(), for every node in turn. */
void memory_build_orders(Kernel *kernel) {
        unsigned loads[KERNEL_NODES_MAX] = {};

        for (unsigned id = 0; id < KERNEL_NODES_MAX; id++) {
                MemoryNode *node = &kernel->nodes[id];
                uint64_t used = 0;
                unsigned next, before = id;

                if (!node->exists)
                        continue;
                for (; (next = next_best_node(kernel, id, used, loads)) < KERNEL_NODES_MAX;
                     before = next) {
                        if (node->distance[next] != node->distance[before])
                                loads[next]++;
                        used |= node_bit(next);
                        node->order[node->n_order++] = next;
                }
        }
}
