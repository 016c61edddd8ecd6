/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Escalation: how one pool is brought to its planned count, as a pure machine.
 *
 * The caller asks for the next move, performs it, reads back what the kernel did and reports that.
 * A write that gets fewer pages succeeds, so only the count read back is believed. The levels:
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

typedef enum EscalationAction {
        ESCALATION_WRITE,       /* set the persistent count to `pages` */
        ESCALATION_RECLAIM,     /* have the node reclaim `bytes` */
        ESCALATION_COMPACT,     /* compact the node */
        ESCALATION_DROP_CACHES, /* drop the host's clean caches */
        ESCALATION_DEMOTE, /* demote pages into smaller ones; decided by the plan, never by escalation */
        ESCALATION_DONE,
} EscalationAction;

typedef struct EscalationMove {
        EscalationAction action;
        uint64_t pages;
        uint64_t bytes;
} EscalationMove;

/* What was done and what it brought. */
typedef struct EscalationRecord {
        EscalationAction action;
        uint64_t pages_before; /* persistent */
        uint64_t pages_after;
        uint64_t usec;
        int error; /* 0 or a negative errno */
} EscalationRecord;

typedef struct EscalationOptions {
        bool may_compact;
        bool may_reclaim;
        bool may_drop_caches;
        uint64_t deadline_usec; /* no new round after this; UINT64_MAX: none */
} EscalationOptions;

/* What the caller has just read. */
typedef struct EscalationView {
        uint64_t persistent_pages;
        uint64_t room_bytes; /* what the node can give beyond KeepFree=, page cache included */
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
        bool has_written;
        bool is_short; /* the last write came back short */
        bool has_dropped;
        bool is_clamped; /* the room did not allow what was planned */
        int write_error; /* the kernel refused a write: negative errno */
        VEC(EscalationRecord) records;
} Escalation;

Escalation escalation_new(Arena *arena, uint64_t page_size_bytes, uint64_t to_pages,
                          const EscalationOptions *options);

EscalationMove escalation_next(Escalation *escalation, const EscalationView *view);

void escalation_report(Escalation *escalation, const EscalationMove *move,
                       const EscalationRecord *record);

/* "write", "reclaim", "compact", "drop-caches", "demote". */
const char *escalation_action_name(EscalationAction action);
