/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Evidence: why a pool stayed short, read from what the host shows afterwards. */

#include "model/reason.h"
#include "model/topology.h"

typedef struct Shortfall {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t wanted_pages;  /* persistent, as planned */
        uint64_t reached_pages; /* persistent, read back */
        int error;              /* of the write, negative errno; 0: it "succeeded" */
        bool is_clamped;        /* memory had gone between planning and writing */
        unsigned n_rounds;      /* of reclaim and compaction that were tried */
        bool may_drop_caches;   /* DropCaches= */
} Shortfall;

Reason evidence_of_shortfall(Arena *arena, const Topology *now, const Shortfall *shortfall);

/* Free blocks of a node that can hold a page of this size as they are, without compaction, and the
 * largest free block in bytes (0: none known). From /proc/buddyinfo; a lower bound for what one
 * write gets. */
uint64_t evidence_ready_pages(const Topology *topology, unsigned node, uint64_t page_size_bytes);
uint64_t evidence_largest_block_bytes(const Topology *topology, unsigned node);
