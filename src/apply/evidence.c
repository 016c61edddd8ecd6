/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "apply/evidence.h"

#include "base/size.h"
#include "base/text.h"

#include <string.h>

uint64_t evidence_ready_pages(const Topology *topology, unsigned node_id,
                              uint64_t page_size_bytes) {
        const Node *node = topology_node(topology, node_id);
        uint64_t pages = 0;

        for (unsigned order = 0; node && order < BUDDY_ORDERS; order++) {
                uint64_t block_bytes = topology->base_page_bytes << order;

                if (block_bytes >= page_size_bytes)
                        pages += node->free_blocks[order] * (block_bytes / page_size_bytes);
        }
        return pages;
}

uint64_t evidence_largest_block_bytes(const Topology *topology, unsigned node_id) {
        const Node *node = topology_node(topology, node_id);

        for (unsigned order = BUDDY_ORDERS; node && order > 0; order--)
                if (node->free_blocks[order - 1] > 0)
                        return topology->base_page_bytes << (order - 1);
        return 0;
}

static Reason reason_of_error(Arena *arena, const Topology *now, const Shortfall *shortfall,
                              const char *what) {
        if (!topology_node(now, shortfall->node))
                return (Reason){
                        REASON_NODE_ABSENT,
                        arena_printf(arena, "node %u went away while its pages were being reserved",
                                     shortfall->node),
                        "bring the node's memory online, or name other nodes in Nodes="};
        if (shortfall->error == -EINVAL)
                return (Reason){
                        REASON_WRITE_FAILED,
                        arena_printf(arena,
                                     "%s: the kernel cannot reserve this page size at run time",
                                     what),
                        "reserve these pages on the kernel command line (hugepagesz= and hugepages=)"};
        return (Reason){REASON_WRITE_FAILED,
                        arena_printf(arena, "%s: the kernel refused the write: %s", what,
                                     strerror(-shortfall->error)),
                        shortfall->error == -EACCES || shortfall->error == -EPERM ||
                                        shortfall->error == -EROFS
                                ? "run hugepland as root with /sys writable"
                                : "see the kernel log"};
}

/* Remaining page cache was protected from reclaim, or did not yield whole blocks. */
static const char *with_caches(Arena *arena, const char *remedy, const Node *node,
                               const Shortfall *shortfall, uint64_t missing_bytes) {
        if (!node || shortfall->may_drop_caches || node->reclaimable_bytes < missing_bytes)
                return remedy;
        return arena_printf(
                arena,
                "%s; or set DropCaches=yes in [Host] and reload: %s of the node are cache that reclaim did not free, as where MemoryMin= protects it",
                remedy, format_size(arena, node->reclaimable_bytes));
}

static Reason reason_of_memory(Arena *arena, const Topology *now, const Shortfall *shortfall,
                               const char *what) {
        const Node *node = topology_node(now, shortfall->node);
        uint64_t free_bytes = node ? node->free_bytes : 0;
        uint64_t missing = mul_saturated(shortfall->wanted_pages - shortfall->reached_pages,
                                         shortfall->page_size_bytes);
        uint64_t ready = evidence_ready_pages(now, shortfall->node, shortfall->page_size_bytes);
        uint64_t largest = evidence_largest_block_bytes(now, shortfall->node);

        if (shortfall->is_clamped || free_bytes < missing)
                return (Reason){
                        REASON_NOT_ENOUGH_MEMORY,
                        arena_printf(arena, "%s: the node has %s free, and %s more would be needed",
                                     what, format_size(arena, free_bytes),
                                     format_size(arena, missing)),
                        with_caches(
                                arena,
                                "free memory on that node, allow more nodes, or reserve at boot before it fills",
                                node, shortfall, missing)};
        const char *tried = shortfall->n_rounds > 0
                                    ? arena_printf(arena, "%u %s of compaction",
                                                   shortfall->n_rounds,
                                                   shortfall->n_rounds == 1 ? "round" : "rounds")
                                    : "compaction was switched off, or there was no time for it";

        const char *blocks = now->base_page_bytes == 0
                                     ? "how large its blocks are is not known"
                                     : arena_printf(arena, "blocks for %s more, largest block %s",
                                                    format_count(arena, ready),
                                                    format_size(arena, largest));

        return (Reason){REASON_FRAGMENTED,
                        arena_printf(arena, "%s: %s is free but fragmented (%s; %s)", what,
                                     format_size(arena, free_bytes), blocks, tried),
                        with_caches(arena,
                                    "reboot so that the pages are reserved before memory fragments",
                                    node, shortfall, missing)};
}

Reason evidence_of_shortfall(Arena *arena, const Topology *now, const Shortfall *shortfall) {
        const char *what = arena_printf(arena, "node %u gave %s of %s pages of %s", shortfall->node,
                                        format_count(arena, shortfall->reached_pages),
                                        format_count(arena, shortfall->wanted_pages),
                                        format_page_size(arena, shortfall->page_size_bytes));

        return shortfall->error < 0 ? reason_of_error(arena, now, shortfall, what)
                                    : reason_of_memory(arena, now, shortfall, what);
}
