/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The ledger: who owns which pages in this boot.
 *
 * Three facts cannot be read from the kernel: how many pages a pool had before we touched it, which
 * instance each page was reserved for, and what a unit that runs was let start with. They are kept
 * here, on /run, and are valid for one boot. A missing or broken ledger is rebuilt from what is there:
 * the pools as they stand are then what was found; what a unit that runs has is what the kernel counts for
 * it, or, where it does not count, as many of the pages in use as its instance may have, so that a lost
 * ledger never doubles a pool. */

#include "base/vec.h"
#include "config/config.h"
#include "model/memory_policy.h"
#include "model/topology.h"
#include "promise/unit_use.h"

#include <jansson.h>

typedef struct LedgerPool {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t found_pages; /* persistent, not put there by us: never lowered below this */
        uint64_t set_pages;   /* persistent, as we last left or saw it */
        /* In use by nobody who is known, when a plan was last made: instances without a unit may have
         * come since. */
        uint64_t others_pages;
} LedgerPool;

typedef struct LedgerInstance {
        const char *name;
        uint64_t page_size_bytes;
        uint64_t pages_wanted;
        Placement placement;
        bool is_released; /* given back by hand: nothing until the next reload or start of its unit */
        /* Without a unit nobody knows whether it runs: so many pages were likely its own when a plan was made last. */
        bool is_loose;
        uint64_t likely_pages;
        bool has_stood; /* all that it wants was there once: others have come since, if it is not */
        bool was_ready; /* likewise, and nobody could take any of it */
        VEC(NodePages) grants;
} LedgerInstance;

/* What a unit that runs was let start with. It keeps that until it has stopped, whatever becomes of the
 * configuration meanwhile: it may have mapped the pages, or be about to. */
typedef struct LedgerHold {
        const char *unit;
        const char *run;     /* systemd's id of that start; "": not known */
        MemoryPolicy policy; /* under which it was started */
        bool is_counted;     /* the hugetlb controller counts for it from its start on */
        bool is_assumed;     /* not on disk: it runs and nobody let it start; wanted pages count */
        /* Not on disk: no unit runs, but a reload under way may yet be taken back. */
        bool is_tentative;
        LedgerInstance granted; /* as it was then; of the name that the instance had */
} LedgerHold;

typedef VEC(LedgerHold) LedgerHolds;

/* Whether the boot guard (plan/boot_guard.h) holds in this boot. Decided once: a daemon that is
 * started again must neither close what a reload has opened, nor open it because the boot went on. */
typedef enum LedgerGuard {
        LEDGER_GUARD_UNDECIDED, /* no daemon has started yet */
        LEDGER_GUARD_CLOSED,
        LEDGER_GUARD_OPEN,
} LedgerGuard;

/* What a gate was told last, as long as its unit has not started since. */
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
        /* Likely reserved by what ran for instances without a unit that are gone, or want others; in use, until a plan
         * is made again, that counts them for others. */
        PageCounts left;
        PageCounts restored; /* taken away by others and put back, of late; not kept on disk */
        VEC(LedgerRefusal) refusals;
} Ledger;

/* An empty ledger for this boot. */
Ledger *ledger_new(Arena *arena, const char *boot_id);

/* Notes what TOPOLOGY and USE (NULL: nothing is known) show. Holds of units that run no longer end.
 * Of the pools: new pools are found as they are; pages that others have added to a
 * known pool since were found too, unless another pool of that size has so many less, or was given
 * so many back of late: who sets the pool of the whole host, as sysctl and tuned do, moves pages
 * between nodes, and moved pages stay ours. A pool that others have lowered keeps its record as long
 * as what was found is still there; below that, what is left was found. Says how many pages have been
 * moved. */
uint64_t ledger_observe(Arena *arena, Ledger *ledger, const Topology *topology, const HostUse *use);

/* Notes that PAGES taken by others are put back, and that this is long ago. */
void ledger_restore(Arena *arena, Ledger *ledger, uint64_t page_size_bytes, uint64_t pages);
static inline void ledger_forget_restored(Ledger *ledger) {
        ledger->restored.n = 0;
}

/* NULL where the ledger knows no such pool or instance. */
LedgerPool *ledger_pool(const Ledger *ledger, unsigned node, uint64_t page_size_bytes);
LedgerInstance *ledger_instance(const Ledger *ledger, const char *name);

/* On all nodes. */
uint64_t ledger_granted_pages(const LedgerInstance *instance);

/* On one node; INSTANCE may be NULL. */
uint64_t ledger_pages_on(const LedgerInstance *instance, unsigned node);

/* Whether both are granted the same pages. */
bool ledger_is_same_place(const LedgerInstance *a, const LedgerInstance *b);

/* The same, and whether they would be placed alike: all but what only the plan's instance has. */
bool ledger_is_same_grant(const LedgerInstance *a, const LedgerInstance *b);

/* In every detail: then the same plan follows from both, and the same is written to disk. */
bool ledger_equals(const Ledger *a, const Ledger *b);

/* What UNIT was let start with for INSTANCE; for any of its instances where that is NULL. NULL: nothing,
 * or the unit does not run. */
LedgerHold *ledger_hold(const Ledger *ledger, const char *unit, const char *instance);
/* The same where it is known from that start on, and the kernel has counted since; else NULL. */
LedgerHold *ledger_counted_hold(const Ledger *ledger, const char *unit, const char *instance);
/* Whether that is all that its unit was let start with. */
bool ledger_is_only_hold(const Ledger *ledger, const LedgerHold *hold);

/* The same for many: the holds of units by unit, and those that are tentative by instance. Refers to HOLDS, which
 * must not change. */
typedef struct HoldIndex {
        Index *by_unit, *tentative;
} HoldIndex;

HoldIndex ledger_index_holds(Arena *arena, const LedgerHolds *holds);

/* Notes that HOLD->unit is let start, with what the ledger grants INSTANCE now (if that is nothing, with
 * HOLD->granted), in the place of what it had at an earlier start; pages that are on nodes from which
 * HOLD->policy does not let it take any count for those from which it does. */
void ledger_start(Arena *arena, Ledger *ledger, const char *instance, const LedgerHold *hold);

/* Notes that the unit of HOLD has taken all that it will ever take, PAGES, of which USED are touched: it keeps no more,
 * and of each node no less than it has touched there. */
void ledger_settle(LedgerHold *hold, uint64_t pages, const NodePages *used, size_t n_used);

/* Notes why RUN of the unit of INSTANCE was not let start, in the place of what it was told before; or that
 * it was. */
void ledger_note_refusal(Arena *arena, Ledger *ledger, const char *instance, const char *run,
                         const char *text);
void ledger_forget_refusal(Ledger *ledger, const char *instance);

/* Notes that RUN of UNIT has begun for INSTANCE, and so all earlier ones are over. */
void ledger_end(Ledger *ledger, const char *unit, const char *run, const char *instance);

/* Notes that INSTANCE is given back, or is wanted again. */
void ledger_release(Arena *arena, Ledger *ledger, const char *instance);
void ledger_want_again(Ledger *ledger, const char *instance);

/* A reload plans everything again: what was released is wanted, and the boot guard is open. */
void ledger_reload(Ledger *ledger);

/* As JSON and back. From JSON: NULL unless it is a ledger of BOOT_ID, of any version, and nothing in it is wrong.
 * *RET_LOST says what is not taken from it, and why, behind the name of its file; NULL: all is. */
json_t *ledger_to_json(const Ledger *ledger);
Ledger *ledger_from_json(Arena *arena, const json_t *json, const char *boot_id,
                         const char **ret_lost);

/* Copies that live in ARENA. */
Ledger *ledger_copy(Arena *arena, const Ledger *ledger);
LedgerInstance ledger_copy_instance(Arena *arena, const LedgerInstance *instance);
