/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Promises and balances as the contract has them (plan/promise/promise.h, plan/promise/balance.h), reckoned a second
 * time in the plainest way, for the oracle of the plan's properties. */

#include "plan/plan.h"

enum { NAIVE_NODES_MAX = 16, NAIVE_ROWS_MAX = 64 };

/* One unit that runs, or an instance without one. */
typedef struct NaiveRow {
        const char *unit;
        const char *loose; /* the instance that has none */
        MemoryPolicy policy;
        bool is_counted;
        uint64_t granted;
        uint64_t used[NAIVE_NODES_MAX];
        uint64_t promised; /* counted: mapped and not touched */
        uint64_t likely;   /* not counted: as much of what nobody counts */
        uint64_t owed;     /* granted, and not mapped */
} NaiveRow;

typedef struct NaivePromises {
        const Topology *topology;
        size_t size;
        NaiveRow rows[NAIVE_ROWS_MAX];
        size_t n_rows;
        uint64_t unknown;         /* promised to nobody who is counted */
        uint64_t others_promised; /* of that, to nobody who is known */
        uint64_t others_used[NAIVE_NODES_MAX];
        /* Of what came into use since, and of UNKNOWN: of what ran for instances without a unit that are gone. */
        uint64_t left_used[NAIVE_NODES_MAX], left_promised;
        uint64_t shared; /* of UNKNOWN, nobody's so far */
} NaivePromises;

/* HOLDS: of all units that run, with those that are assumed behind the others. USE may be NULL. */
NaivePromises naive_promises(const Topology *topology, size_t size, const LedgerHolds *holds,
                             const HostUse *use, const Ledger *ledger);

/* What must stay free, decided when FREE was. */
typedef struct NaiveBalance {
        IdSet sets[NAIVE_ROWS_MAX]; /* to which somebody is bound */
        uint64_t set_needed[NAIVE_ROWS_MAX];
        size_t n_sets;
        uint64_t all_needed;
        uint64_t node_needed[NAIVE_NODES_MAX];
} NaiveBalance;

NaiveBalance naive_balance(const NaivePromises *promises, const uint64_t *free);

/* How many pages of node I can go while FREE are free. */
uint64_t naive_spare(const NaivePromises *promises, const NaiveBalance *balance,
                     const uint64_t *free, size_t i);
