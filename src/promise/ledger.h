/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The ledger: who owns which pages in this boot.
 *
 * Two facts cannot be read from the kernel: how many pages a pool had before we touched it, and
 * which instance each page was reserved for. They are kept here, on /run, and are valid for one
 * boot. A missing or broken ledger is rebuilt from what is there: the pools as they stand are then
 * what was found, and pages in use are taken for the instances' own until a gate shows otherwise,
 * so that a lost ledger never doubles a pool. */

#include "base/vec.h"
#include "config/config.h"
#include "model/topology.h"

#include <jansson.h>

typedef struct LedgerPool {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t found_pages;   /* persistent, not put there by us: never lowered below this */
        uint64_t set_pages;     /* persistent, as we last left or saw it */
        uint64_t foreign_pages; /* known to be held by others (found so at a gate) */
} LedgerPool;

typedef struct LedgerGrant {
        unsigned node;
        uint64_t pages;
} LedgerGrant;

typedef struct LedgerInstance {
        const char *name;
        uint64_t page_size_bytes;
        uint64_t pages_wanted;
        Placement placement;
        bool is_held;     /* its gate was passed in this boot: it may be using its pages */
        bool is_released; /* given back by hand: nothing until the next reload or start of its unit */
        VEC(LedgerGrant) grants;
} LedgerInstance;

/* Whether the boot guard (plan/boot_guard.h) holds in this boot. Decided once: a daemon that is
 * started again must neither close what a reload has opened, nor open it because the boot went on. */
typedef enum LedgerGuard {
        LEDGER_GUARD_UNDECIDED, /* no daemon has started yet */
        LEDGER_GUARD_CLOSED,
        LEDGER_GUARD_OPEN,
} LedgerGuard;

/* Pages that others had taken away, and that were put back. */
typedef struct LedgerRestored {
        uint64_t page_size_bytes;
        uint64_t pages;
} LedgerRestored;

typedef struct Ledger {
        const char *boot_id;
        LedgerGuard guard;
        VEC(LedgerPool) pools;
        VEC(LedgerInstance) instances;
        VEC(LedgerRestored) restored; /* of late; not kept on disk */
} Ledger;

/* An empty ledger for this boot. */
Ledger *ledger_new(Arena *arena, const char *boot_id);

/* Notes what TOPOLOGY shows: new pools are found as they are; pages that others have added to a
 * known pool since were found too, unless another pool of that size has so many less, or was given
 * so many back of late: who sets the pool of the whole host, as sysctl and tuned do, moves pages
 * between nodes, and moved pages stay ours. A pool that others have lowered keeps its record as long
 * as what was found is still there; below that, what is left was found, and nobody can hold more of
 * it. Says how many pages have been moved. */
uint64_t ledger_observe(Arena *arena, Ledger *ledger, const Topology *topology);

/* Notes that PAGES taken by others are put back, and that this is long ago. */
void ledger_restore(Arena *arena, Ledger *ledger, uint64_t page_size_bytes, uint64_t pages);
void ledger_forget_restored(Ledger *ledger);

/* NULL where the ledger knows no such pool or instance. */
LedgerPool *ledger_pool(const Ledger *ledger, unsigned node, uint64_t page_size_bytes);
LedgerInstance *ledger_instance(const Ledger *ledger, const char *name);

uint64_t ledger_granted_pages(const LedgerInstance *instance);

/* Notes that INSTANCE is given back, or is wanted again. */
void ledger_release(Arena *arena, Ledger *ledger, const char *instance);
void ledger_want_again(Ledger *ledger, const char *instance);

/* A reload plans everything again: what was released is wanted, and the boot guard is open. */
void ledger_reload(Ledger *ledger);

/* As JSON and back. From JSON: NULL unless it is a ledger of BOOT_ID in every detail. */
json_t *ledger_to_json(const Ledger *ledger);
Ledger *ledger_from_json(Arena *arena, const json_t *json, const char *boot_id);

/* A copy that lives in ARENA. */
Ledger *ledger_copy(Arena *arena, const Ledger *ledger);
