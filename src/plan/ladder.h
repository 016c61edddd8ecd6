/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The ladder: how one pool is brought to its planned count, as a pure machine.
 *
 * The caller asks for the next move, performs it, reads back what the kernel did and reports that.
 * A write that gets fewer pages succeeds, so only the count read back is believed. The rungs:
 *   1. write, in slices, so that progress shows and a stop is heard;
 *   2. a slice came back short: have the node give up clean page cache (what is missing and an
 *      eighth), compact its memory, write again;
 *   3. as long as that brings pages and there is time; two rounds without a gain end it, three
 *      while the node has cache to give. Every reclaim asks for twice as much as the one before,
 *      up to eight times: which pages go is the kernel's choice, and most are worth nothing while
 *      a page that cannot be moved lies beside them;
 *   4. the whole host's clean caches last, if allowed, once.
 * Every write is clamped to the room that the node has at that moment: asking for more than there
 * is takes all memory and can panic the host. Sources: mm/hugetlb.c set_max_huge_pages() and
 * alloc_pool_huge_folio(), Documentation/ABI/stable/sysfs-devices-node (compact, reclaim). */

#include "base/vec.h"

typedef enum LadderAction {
        LADDER_WRITE,       /* set the persistent count to `pages` */
        LADDER_RECLAIM,     /* have the node reclaim `bytes` */
        LADDER_COMPACT,     /* compact the node */
        LADDER_DROP_CACHES, /* drop the host's clean caches */
        LADDER_DEMOTE, /* split pages into smaller ones; decided by the plan, never by the ladder */
        LADDER_DONE,
} LadderAction;

typedef struct LadderMove {
        LadderAction action;
        uint64_t pages;
        uint64_t bytes;
} LadderMove;

/* What was done and what it brought. */
typedef struct LadderRecord {
        LadderAction action;
        uint64_t pages_before; /* persistent */
        uint64_t pages_after;
        uint64_t usec;
        int error; /* 0 or a negative errno */
} LadderRecord;

typedef struct LadderOptions {
        bool may_compact;
        bool may_reclaim;
        bool may_drop_caches;
        uint64_t deadline_usec; /* no new round after this; UINT64_MAX: none */
} LadderOptions;

/* What the caller has just read. */
typedef struct LadderView {
        uint64_t persistent_pages;
        uint64_t room_bytes; /* what the node can give beyond KeepFree=, page cache included */
        uint64_t free_bytes; /* MemFree of the node */
        uint64_t reclaimable_bytes; /* clean-able page cache and slab of the node */
        uint64_t now_usec;
} LadderView;

typedef struct Ladder {
        Arena *arena;
        uint64_t page_size_bytes;
        uint64_t to_pages;
        LadderOptions options;
        /* State. */
        unsigned rung;
        uint64_t slice_pages;
        uint64_t round_start_pages;
        unsigned idle_rounds;
        unsigned n_rounds;
        unsigned n_reclaims;
        bool has_written;
        bool is_short; /* the last write came back short */
        bool has_dropped;
        bool is_clamped; /* the room did not allow what was planned */
        int write_error; /* the kernel refused a write: negative errno */
        VEC(LadderRecord) records;
} Ladder;

Ladder ladder_new(Arena *arena, uint64_t page_size_bytes, uint64_t to_pages,
                  const LadderOptions *options);

LadderMove ladder_next(Ladder *ladder, const LadderView *view);

void ladder_report(Ladder *ladder, const LadderMove *move, const LadderRecord *record);

/* "write", "reclaim", "compact", "drop-caches", "demote". */
const char *ladder_action_name(LadderAction action);
