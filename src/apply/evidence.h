/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Evidence: why a pool is below its target, found from the host's state after the escalation. */

#include "model/reason.h"
#include "model/topology.h"

typedef struct Shortfall {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t wanted_pages;  /* persistent, as planned */
        uint64_t reached_pages; /* persistent, read back */
        int error;              /* of the write: negative errno; 0 also if it yielded fewer pages */
        bool is_clamped;        /* memory was used up between planning and writing */
        unsigned n_rounds;      /* of reclaim and compaction */
        bool may_drop_caches;   /* DropCaches= */
} Shortfall;

Reason evidence_of_shortfall(Arena *arena, const Topology *now, const Shortfall *shortfall);

/* Return the pages of this size that fit into free blocks of the node without compaction, and the largest free block in
 * bytes (0: not known), from /proc/buddyinfo. They are a lower bound for what one write yields. */
uint64_t evidence_ready_pages(const Topology *topology, unsigned node, uint64_t page_size_bytes);
uint64_t evidence_largest_block_bytes(const Topology *topology, unsigned node);
