/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The planner at work, for the files plan*.c only: pools and what they can still give, candidates for
 * the place of one instance, and the sentences about those that do not fit. */

#include "plan/plan.h"
#include "promise/balance.h"

/* What a unit that runs, or may run, keeps of a pool. */
typedef struct Kept {
        const void *owner; /* its hold; or the PlanInstance, which has no unit */
        const PlanPool *pool;
        uint64_t pages;
} Kept;

/* Who has pages of some nodes, as it was said last: when so many grants had been made. */
typedef struct Claims {
        IdSet nodes;
        uint64_t n_grants;
        const char *text;
        bool has_any;
} Claims;

typedef struct Planner {
        Arena *arena;
        const PlanInput *input;
        Plan *plan;
        uint64_t *room_bytes;  /* by index of the node: memory that new pages may still take */
        uint64_t *short_bytes; /* likewise: what it is short of KeepFree= */
        uint64_t *auto_bytes; /* likewise: what instances with Memory=auto may still have together */
        Promises *promises;   /* by index of the page size */
        Balance **balances;   /* likewise: of what is free, and is left of that */
        VEC(Kept) kept;       /* by owner and pool, as addresses */
        uint64_t n_grants;    /* so many times pages were granted to an instance, or taken back */
        VEC(Claims) claims;
} Planner;

static inline bool planner_is_automatic(const PlanInstance *instance) {
        return !instance->demand->config->refusal &&
               instance->demand->config->memory_kind == MEMORY_AUTO;
}

/* What instances with Memory=auto may still have of the pool's node together; NULL: INSTANCE is none of them. */
static inline uint64_t *planner_auto_bytes(const Planner *planner, const PlanInstance *instance,
                                           const PlanPool *pool) {
        return planner_is_automatic(instance) ? &planner->auto_bytes[pool->node_index] : NULL;
}

/* Persistent pages without any write to the pool's size: what is there, demoting included. */
static inline uint64_t plan_pool_present_pages(const PlanPool *pool) {
        return pool->from_pages - pool->demoted_pages + pool->gained_pages;
}

/* ---- pools (plan_pool.c) ---- */

/* Makes the pools of the plan, with what others have of them and what units that run keep. */
void planner_add_pools(Planner *planner);

PlanPool *planner_pool(const Planner *planner, unsigned node, uint64_t page_size_bytes);

/* Shares out what learned sizes may have together of each node; what units keep of it stays. */
void planner_share(Planner *planner);

/* What the unit of the instance keeps in the pool. */
uint64_t planner_held_pages(const Planner *planner, const PlanInstance *instance,
                            const PlanPool *pool);

/* How many more pages the pool can grant: those it has, those its node has room for, and those that
 * demoting larger ones gives. */
uint64_t planner_capacity(const Planner *planner, const PlanPool *pool);

/* Of these, the last kind. */
uint64_t planner_demotable(const Planner *planner, const PlanPool *pool);

/* How many of its pages nobody has yet: without a write to its size. */
uint64_t planner_standing(const Planner *planner, const PlanPool *pool);

/* Grants PAGES; takes back what was granted so. */
void planner_grant(Planner *planner, PlanPool *pool, uint64_t pages);
void planner_take_back(Planner *planner, PlanPool *pool, uint64_t pages);

/* How many fewer pages the pool has by what is granted now; and how many fewer it may have by fewer of these. What was
 * found stays. */
uint64_t planner_given_back(const Planner *planner, const PlanPool *pool);
uint64_t planner_yield(const Planner *planner, const PlanPool *pool);

/* A limit of the pool that trying has shown: that it grows no further, or cannot be demoted. NULL: none. */
const PoolLimit *planner_limit(const Planner *planner, const PlanPool *pool, bool cannot_demote);

/* How many more pages than PAGES memory can give it: what the node has room for, within what trying has
 * shown. Surplus pages in use become persistent ones first, and cost nothing. */
uint64_t planner_growth(const Planner *planner, const PlanPool *pool, uint64_t pages);

/* What has to stand in each pool when everybody has been served. */
void planner_set_targets(Planner *planner);

/* ---- cover (plan_cover.c) ---- */

/* Makes pools larger where somebody may take pages that others are bound to, for as long as he may. */
void planner_cover(Planner *planner);

/* ---- serving (plan_serve.c) ---- */

/* Grants all instances what they get. */
void planner_serve(Planner *planner);

/* It is to have nothing for now, and so lacks nothing. */
bool planner_is_left_out(const PlanInstance *instance);

/* ---- places (plan_place.c) ---- */

/* What each node would give to one instance. */
typedef struct CandidatePool {
        PlanPool *pool;
        uint64_t capacity, pages;
} CandidatePool;

typedef struct Candidate {
        CandidatePool *pools; /* of the wanted size on the nodes that may serve, by node number */
        size_t n;
} Candidate;

Candidate candidate_new(Planner *planner, const PlanInstance *instance, uint64_t page_size_bytes);
uint64_t candidate_capacity(const Candidate *candidate);
CandidatePool *candidate_find(const Candidate *candidate,
                              unsigned node); /* NULL: it has no such node */

/* All that OPTION wants; false: it does not fit. */
bool candidate_place_whole(const Planner *planner, const PlanInstance *instance,
                           const DemandOption *option, Candidate *candidate);

/* As much as fits of what the instance does not have yet. */
void candidate_place_part(const PlanInstance *instance, const DemandOption *option,
                          Candidate *candidate);

/* Grants the candidate's pages, on top of what the instance has of them. */
void candidate_commit(Planner *planner, PlanInstance *instance, const DemandOption *option,
                      const Candidate *candidate);

/* Takes back all that the instance was granted. */
void planner_give_up(Planner *planner, PlanInstance *instance);

uint64_t planner_granted_on(const PlanInstance *instance, unsigned node);

/* The option of DEMAND by which the instance was served before; NULL if its demand is another one now. */
const DemandOption *planner_find_option(const LedgerInstance *before, const DemandInstance *demand);

/* What the instance had before: what its unit runs with, where that is what it wants now, else what
 * the ledger says; NULL: nothing. */
const LedgerInstance *planner_before(const Planner *planner, const PlanInstance *instance);

/* ---- reasons (plan_reason.c) ---- */

Reason planner_explain(Planner *planner, const PlanInstance *instance, const DemandOption *option,
                       const Candidate *candidate);
