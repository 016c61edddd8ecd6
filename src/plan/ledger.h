/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The ledger: which pages belong to which owner in this boot.
 *
 * Three facts cannot be read from the kernel: how many pages a pool had before hugeplan changed it, which instance each
 * page was reserved for, and what a running unit was started with. The ledger keeps them on /run for one boot. Without
 * it, the pools' present pages count as existing; a running unit has what the kernel counts for it or, if the kernel
 * does not count, as many pages in use as its instance may have, so that a lost ledger never doubles a pool. */

#include "base/vec.h"
#include "config/config.h"
#include "model/memory_policy.h"
#include "model/topology.h"
#include "plan/charges.h"

typedef struct LedgerPool {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t found_pages; /* persistent, not added by hugeplan: never lowered below this */
        uint64_t set_pages;   /* persistent, as hugeplan last set or saw the pool */
        /* In use by no known unit when a plan was last made: instances without a unit may have started since. */
        uint64_t others_pages;
        uint64_t added_pages; /* of found_pages, those that others have added since */
} LedgerPool;

typedef struct LedgerInstance {
        const char *name;
        uint64_t page_size_bytes;
        uint64_t pages_wanted;
        Placement placement;
        bool is_released;  /* given back by hand: no pages until a reload or its unit's start */
        bool is_unitless;  /* it is not known whether it runs */
        bool was_complete; /* all its pages were there once; others may have got some since */
        bool was_ready;    /* likewise, and no other unit could take any */
        PagesByNode grants;
} LedgerInstance;

/* What a running unit was started with. The unit keeps these pages until it stops, even if the configuration
 * changes: it may have mapped them, or be about to. */
typedef struct LedgerHold {
        const char *unit;
        const char *run;     /* systemd's id of that start; "": not known */
        MemoryPolicy policy; /* at its start */
        bool is_counted;     /* the hugetlb controller has counted for it since its start */
        bool is_assumed;     /* not on disk: it runs, but was not admitted; pages_wanted counts */
        /* What processes of earlier runs (KillMode=process) had of the page size at that start, and have at most; NULL:
         * nothing, or nothing counts. */
        const UnitCharge *earlier;
        /* Not on disk, and no unit runs: a reload may still be undone, or the instance's file cannot be read. */
        bool is_tentative;
        LedgerInstance granted; /* the grant and the instance's name at that time */
} LedgerHold;

typedef VEC(LedgerHold) LedgerHolds;

/* Whether the boot guard (plan/boot_guard.h) is closed in this boot. Decided once: a restarted daemon must neither
 * close a guard that a reload has opened, nor open it because the boot went on. */
typedef enum LedgerGuard {
        LEDGER_GUARD_UNDECIDED, /* no daemon has started yet */
        LEDGER_GUARD_CLOSED,
        LEDGER_GUARD_OPEN,
} LedgerGuard;

/* The last refusal of an instance's gate, until its unit starts. */
typedef struct LedgerRefusal {
        const char *instance;
        const char *run; /* systemd's id of that start; "": not known; not kept on disk */
        const char *text;
} LedgerRefusal;

typedef struct Ledger {
        const char *boot_id;
        LedgerGuard guard;
        VEC(LedgerPool) pools;
        VEC(LedgerInstance) instances;
        LedgerHolds holds;
        /* Pages likely reserved by processes of instances without a unit that were removed or changed; also those in
         * use, until the next plan counts these as others'. */
        PageCounts left;
        PageCounts restored; /* taken away by others and recently restored; not on disk */
        VEC(LedgerRefusal) refusals;
} Ledger;

/* Returns an empty ledger for the boot BOOT_ID. */
Ledger *ledger_new(Arena *arena, const char *boot_id);

/* Records what TOPOLOGY and USE (NULL: not known) show; returns how many pages have been moved. Holds of units that
 * no longer run end; what processes of earlier runs have is lowered to what their unit's group still has. New pools are
 * existing pages as they are. Pages that others have added to a known pool count as existing, unless another pool of
 * that size has lost as many, or was recently given as many back: a write to the pool of the whole host, as by sysctl
 * or tuned, moves pages between nodes, and moved pages stay hugeplan's. The record of a pool that others have lowered
 * stays while the existing pages are still there; below that, the remaining pages are existing ones. */
uint64_t ledger_observe(Arena *arena, Ledger *ledger, const Topology *topology, const HostUse *use);

/* Records that no more than PAGES of the existing pages are left. What others have added goes first: if they take that
 * away again, the pages from before stay existing ones. */
void ledger_lower_found(LedgerPool *known, uint64_t pages);

/* Records for which units the hugetlb controller was switched off: later counts of them lack what they have now. */
void ledger_observe_counting(Ledger *ledger, const HostUse *use);

/* Record that PAGES taken by others are restored, and that this is no longer recent. */
void ledger_restore(Arena *arena, Ledger *ledger, uint64_t page_size_bytes, uint64_t pages);
static inline void ledger_forget_restored(Ledger *ledger) {
        ledger->restored.n = 0;
}

/* Return NULL if the ledger has no such pool or instance. */
LedgerPool *ledger_pool(const Ledger *ledger, unsigned node, uint64_t page_size_bytes);
LedgerInstance *ledger_instance(const Ledger *ledger, const char *name);

/* Returns the pages granted on all nodes. */
uint64_t ledger_granted_pages(const LedgerInstance *instance);

/* Returns the pages granted on NODE; 0 if INSTANCE is NULL. */
uint64_t ledger_pages_on(const LedgerInstance *instance, unsigned node);

/* Returns whether both are granted the same pages of the same nodes. */
bool ledger_is_same_place(const LedgerInstance *a, const LedgerInstance *b);

/* Returns ledger_is_same_place(), and whether both want as many pages and the same placement; only the plan's instance
 * has the rest. */
bool ledger_is_same_grant(const LedgerInstance *a, const LedgerInstance *b);

/* Returns whether both are equal in every detail: the same plan follows, and the same file is written. */
bool ledger_equals(const Ledger *a, const Ledger *b);

/* Returns what UNIT was started with for INSTANCE, or for any of its instances if INSTANCE is NULL; NULL if there is
 * nothing, or the unit does not run. */
LedgerHold *ledger_hold(const Ledger *ledger, const char *unit, const char *instance);
/* Returns ledger_hold() if the hold is known since that start, and the kernel has counted since; else NULL. */
LedgerHold *ledger_counted_hold(const Ledger *ledger, const char *unit, const char *instance);
/* Returns whether HOLD is the only one of its unit. */
bool ledger_is_only_hold(const Ledger *ledger, const LedgerHold *hold);

/* Indexes for many look-ups: holds by unit, and tentative holds by instance. They refer to HOLDS, which must not
 * change. */
typedef struct HoldIndex {
        Index *by_unit, *tentative;
} HoldIndex;

HoldIndex ledger_index_holds(Arena *arena, const LedgerHolds *holds);

/* Records that HOLD->unit starts with what the ledger grants INSTANCE (if it has no such instance, with
 * HOLD->granted), in place of its hold from an earlier start. Granted pages on nodes that HOLD->policy excludes
 * count for the nodes that the policy allows. */
void ledger_start(Arena *arena, Ledger *ledger, const char *instance, const LedgerHold *hold);

/* Records that HOLD's unit has taken all that it will take: PAGES, of which USED are touched. HOLD shrinks to PAGES,
 * but on no node below the pages touched there. */
void ledger_settle(LedgerHold *hold, uint64_t pages, const PagesByNode *used);

/* Record why RUN of INSTANCE's unit was refused, in place of an earlier refusal; or that it was admitted. */
void ledger_note_refusal(Arena *arena, Ledger *ledger, const char *instance, const char *run,
                         const char *text);
void ledger_forget_refusal(Ledger *ledger, const char *instance);

/* Records that RUN of UNIT has begun for INSTANCE, and so that all earlier runs have ended. */
void ledger_end(Ledger *ledger, const char *unit, const char *run, const char *instance);

/* Record that INSTANCE is released, or wanted again. */
void ledger_release(Arena *arena, Ledger *ledger, const char *instance);
void ledger_want_again(Ledger *ledger, const char *instance);

/* A reload plans everything again: released instances are wanted, and the boot guard is open. */
void ledger_reload(Ledger *ledger);

/* Return the file's text, and the ledger in TEXT, which is written to and belongs to the ledger. ledger_parse() returns
 * NULL unless TEXT is a ledger of BOOT_ID, of any version, without errors. *RET_LOST is what was not taken from it and
 * why, to follow the file's name; NULL: all was taken. */
char *ledger_format(Arena *arena, const Ledger *ledger);
Ledger *ledger_parse(Arena *arena, char *text, const char *boot_id, const char **ret_lost);

/* Return copies in ARENA. */
Ledger *ledger_copy(Arena *arena, const Ledger *ledger);
LedgerInstance ledger_copy_instance(Arena *arena, const LedgerInstance *instance);
