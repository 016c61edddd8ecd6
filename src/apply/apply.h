/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Apply: brings the host's pools to the plan. The only thing that writes to them.
 *
 * One operation at a time is handed out, performed (by the caller's thread or another, for it may
 * take seconds) and reported back; between two operations the caller is free to serve others, to
 * stop, or to be killed: the next run converges. The order is that of plan_steps(). */

#include "config/config.h"
#include "escalation/escalation.h"
#include "host/root.h"
#include "plan/plan.h"

typedef struct Apply Apply;

typedef struct ApplyOperation {
        EscalationMove move;
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t pages_before; /* persistent */
        const char *path;      /* of the attribute */
        const char *text;      /* to write into it */
        bool is_straightening; /* writes something else, after which all counts are others: see apply.c */
} ApplyOperation;

/* What became of one step of the plan. */
typedef struct ApplyResult {
        PlanStep step;
        uint64_t demoted_pages; /* gone from the pool when it was split */
        uint64_t reached_pages; /* persistent, read back */
        Escalation escalation;  /* with the records of what was done */
        int error;              /* the pool or its node has gone, or refuses: negative errno */
        bool is_finished;
        bool is_unread; /* what stands in the pool could not be read: nothing was learned of it */
} ApplyResult;

typedef struct ApplyInput {
        const Root *root;
        const Config *config;
        const Topology *topology; /* as PLAN was made for it */
        const Ledger *ledger; /* who was promised what; looked at again before pages are given back */
        const PlanStartings *starting; /* units that start at that moment; NULL: none */
        const Plan *plan;
        uint64_t deadline_usec; /* no new round of the escalation begins after it; the clock is NOW_USEC's */
} ApplyInput;

/* Nothing is written yet. What INPUT refers to must outlive it. */
Apply *apply_new(Arena *arena, const ApplyInput *input);

/* The next operation; false when there is none left. Reads the pool and its node anew. */
bool apply_next(Apply *apply, uint64_t now_usec, ApplyOperation *ret);

/* Performs an operation: one blocking write(2), all signals blocked, for a signal would cut it
 * short without an error. Touches nothing but its arguments: may run in another thread. */
int apply_perform(const Root *root, const ApplyOperation *operation);

/* Reports what apply_perform() said and how long it took. Reads back. */
void apply_done(Apply *apply, const ApplyOperation *operation, int error, uint64_t usec);

/* Makes the deadline NOW: finishes what is under way, begins no new round. */
void apply_hurry(Apply *apply);

/* Of which size surplus pages have been made persistent, on whichever nodes they were; 0: of none. Nothing else
 * is written then before a new plan is made. */
uint64_t apply_straightened_bytes(const Apply *apply);

const ApplyResult *apply_results(const Apply *apply, size_t *ret_n);

/* Pages still to come over all pools, and all pages planned to be added: for progress. */
void apply_progress(const Apply *apply, uint64_t *ret_done_pages, uint64_t *ret_all_pages);

/* The pools that stayed below the plan, or could not be split, as limits for the next plan, with the
 * reason found in NOW (a topology probed after applying). */
PoolLimits apply_limits(Arena *arena, const Apply *apply, const Topology *now);
