/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Apply: brings the host's pools to the plan. Nothing else writes to the pools.
 *
 * Apply returns one operation at a time; the caller performs it, perhaps in another thread, because it may take
 * seconds, and reports the result. Between two operations the caller may serve clients, stop, or be killed: the next
 * run converges. The order is that of plan_steps(). */

#include "apply/escalation.h"
#include "config/config.h"
#include "host/root.h"
#include "plan/plan.h"

typedef struct Apply Apply;

typedef struct ApplyOperation {
        EscalationMove move;
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t pages_before; /* persistent */
        const char *path;      /* of the attribute */
        const char *text;      /* to write to it */
        bool is_adopting_surplus; /* writes another count, after which the plan is out of date: see apply.c */
} ApplyOperation;

/* The result of one step of the plan. */
typedef struct ApplyResult {
        PlanStep step;
        uint64_t demoted_pages; /* removed from the pool by demotion */
        uint64_t reached_pages; /* persistent, read back */
        Escalation escalation;  /* with a record of each move */
        int error; /* negative errno: the pool or its node was removed, or a write failed */
        bool is_finished;
        bool is_unread; /* the pool's counts could not be read: the result yields no limit */
} ApplyResult;

typedef struct ApplyInput {
        const Root *root;
        const Config *config;
        const Topology *topology;      /* for which PLAN was made */
        const Ledger *ledger;          /* the promises, checked again before pages are given back */
        const PlanStartings *starting; /* units that are starting; NULL: none */
        const Plan *plan;
        uint64_t deadline_usec; /* no new round of escalation begins later; same clock as NOW_USEC */
} ApplyInput;

/* Writes nothing yet. What INPUT refers to must outlive Apply. */
Apply *apply_new(Arena *arena, const ApplyInput *input);

/* Returns the next operation in *RET, or false if none is left. Reads the pool and its node again. */
bool apply_next(Apply *apply, uint64_t now_usec, ApplyOperation *ret);

/* Performs an operation by one blocking write(2). The caller has blocked all signals, because one would cut the write
 * short without an error. Uses nothing but its arguments, so that it may run in another thread. */
int apply_perform(const Root *root, const ApplyOperation *operation);

/* Takes what apply_perform() has returned and how long it took, and reads the pool back. */
void apply_done(Apply *apply, const ApplyOperation *operation, int error, uint64_t usec);

/* Sets the deadline to now: the current round ends normally, and no new round begins. */
void apply_stop_early(Apply *apply);

/* Returns the page size whose surplus pages were made persistent, on all nodes, or 0 if none. In that case nothing else
 * is written until there is a new plan. */
uint64_t apply_adopted_bytes(const Apply *apply);

const ApplyResult *apply_results(const Apply *apply, size_t *ret_n);

/* Sets *RET_DONE_PAGES to the pages added so far to all pools, and *RET_ALL_PAGES to those planned to be added. */
void apply_progress(const Apply *apply, uint64_t *ret_done_pages, uint64_t *ret_all_pages);

/* Returns the pools that are below the plan or could not be demoted, as limits for the next plan, with the reason
 * found in NOW, a topology probed after applying. */
PoolLimits apply_limits(Arena *arena, const Apply *apply, const Topology *now);

/* ---- evidence: why a pool is below its target, found from the host's state NOW, after applying ---- */

/* Returns why the pool of RESULT, which is finished, is below its target. */
Reason evidence_of_shortfall(Arena *arena, const Topology *now, const ApplyResult *result);

/* Return the pages of this size that fit into free blocks of the node without compaction, and the largest free block in
 * bytes (0: not known), from /proc/buddyinfo. They are a lower bound for what one write yields. */
uint64_t evidence_ready_pages(const Topology *topology, unsigned node, uint64_t page_size_bytes);
uint64_t evidence_largest_block_bytes(const Topology *topology, unsigned node);
