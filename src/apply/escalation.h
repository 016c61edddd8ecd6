/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Escalation: how one pool is raised to its planned count, as a state machine without I/O.
 *
 * The caller gets the next move, performs it, reads the pool back and reports the result. A write that
 * yields fewer pages succeeds, so only the count read back is used. The levels:
 *   1. write in slices, so that progress is visible and a stop takes effect between slices;
 *   2. if a slice yields fewer pages: reclaim clean page cache of the node (the missing bytes and an
 *      eighth), compact the node's memory, and write again;
 *   3. repeat this round while pages are gained and the deadline allows; two rounds without a gain end
 *      the escalation, three while the node has reclaimable cache. Each reclaim requests twice as much
 *      as the one before, up to eight times, because the kernel chooses the pages, and most of them are
 *      useless beside a page that cannot be moved;
 *   4. at the end drop the clean caches of the whole host, once, if allowed.
 * Every write is limited to the present room of the node, because a write beyond it takes all memory
 * and can panic the host. Sources: mm/hugetlb.c set_max_huge_pages() and
 * alloc_pool_huge_folio(), Documentation/ABI/stable/sysfs-devices-node (compact, reclaim). */

#include "model/topology.h"
#include "plan/attempt.h"

typedef struct EscalationMove {
        EscalationAction action;
        uint64_t pages;
        uint64_t bytes;
} EscalationMove;

typedef struct EscalationOptions {
        bool may_compact;
        bool may_reclaim;
        bool may_drop_caches;
        uint64_t deadline_usec; /* no new round after this; UINT64_MAX: none */
} EscalationOptions;

/* The pool and its node, as the caller has just read them. */
typedef struct EscalationView {
        uint64_t persistent_pages;
        uint64_t room_bytes; /* available on the node beyond KeepFree=, page cache included */
        uint64_t free_bytes; /* MemFree of the node */
        uint64_t reclaimable_bytes; /* clean-able page cache and slab of the node */
        uint64_t now_usec;
} EscalationView;

typedef struct Escalation {
        Arena *arena;
        uint64_t page_size_bytes;
        uint64_t to_pages;
        EscalationOptions options;
        /* State. */
        unsigned level;
        uint64_t slice_pages;
        uint64_t round_start_pages;
        unsigned idle_rounds;
        unsigned n_rounds;
        unsigned n_reclaims;
        bool is_short; /* the last write yielded fewer pages */
        bool has_dropped;
        bool is_clamped; /* the node has less room than planned */
        int write_error; /* of the last write: 0 or a negative errno */
        VEC(EscalationRecord) records;
} Escalation;

Escalation escalation_new(Arena *arena, uint64_t page_size_bytes, uint64_t to_pages,
                          const EscalationOptions *options);

EscalationMove escalation_next(Escalation *escalation, const EscalationView *view);

void escalation_report(Escalation *escalation, const EscalationMove *move,
                       const EscalationRecord *record);
