/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The planner's state, for the files plan*.c only: pools and what they can still give, candidate places of one
 * instance, and the sentences about instances that do not fit. */

#include "plan/plan.h"
#include "plan/promise/balance.h"

/* The last sentence about the owners of some nodes' pages, valid as long as n_grants is the planner's. */
typedef struct Claims {
        IdSet nodes;
        uint64_t n_grants;
        const char *text;
        uint64_t movable_bytes; /* of instances whose units do not run */
} Claims;

typedef struct Planner {
        Arena *arena, *scratch; /* of the plan; and of what is dropped with the planner */
        const PlanInput *input;
        Plan *plan;
        uint64_t *room_bytes; /* by index of the node: memory that new pages may still take */
        bool is_commit_bound; /* CommitLimit leaves less room than the nodes have */
        uint64_t *auto_bytes; /* by index of the node: what instances with Memory=auto may still have together */
        Promises *promises;   /* by index of the page size */
        Balance **balances;   /* likewise: of the pages still free */
        uint64_t *kept_pages; /* by index of the instance and of the pool: planner_held_pages() */
        uint64_t n_grants;    /* how often pages were granted or taken back */
        VEC(Claims) claims;
} Planner;

static inline bool planner_is_automatic(const PlanInstance *instance) {
        return !instance->demand->config->refusal &&
               instance->demand->config->memory_kind == MEMORY_AUTO;
}

/* Returns what all instances with Memory=auto may still have of the pool's node; NULL if INSTANCE is another one. */
static inline uint64_t *planner_auto_bytes(const Planner *planner, const PlanInstance *instance,
                                           const PlanPool *pool) {
        return planner_is_automatic(instance) ? &planner->auto_bytes[pool->node_index] : NULL;
}

/* Returns the pool's persistent pages without a write to nr_hugepages, demotion included. */
static inline uint64_t plan_pool_present_pages(const PlanPool *pool) {
        return pool->from_pages - pool->demoted_pages + pool->gained_pages;
}

/* ---- pools (plan_pool.c) ---- */

/* Makes the plan's pools, with what others have of them and what running units keep. */
void planner_add_pools(Planner *planner);

PlanPool *planner_pool(const Planner *planner, unsigned node, uint64_t page_size_bytes);

/* Sets what learned sizes may have together of each node, less what units keep of it. */
void planner_share(Planner *planner);

/* Returns what the instance's unit keeps in the pool. */
uint64_t planner_held_pages(const Planner *planner, const PlanInstance *instance,
                            const PlanPool *pool);

/* Returns how many more pages the pool can grant: those it has, those its node has room for, and those that demoting
 * larger ones gives. */
uint64_t planner_capacity(const Planner *planner, const PlanPool *pool);

/* Returns how many pages demoting larger ones gives the pool. */
uint64_t planner_demotable(const Planner *planner, const PlanPool *pool);

/* Returns how many of the pool's present pages are not taken yet. */
uint64_t planner_untaken(const Planner *planner, const PlanPool *pool);

/* Grant PAGES, and take granted PAGES back: of the share of learned sizes, too, if they are OWNER's (NULL: they are not
 * counted there). */
void planner_grant(Planner *planner, const PlanInstance *owner, PlanPool *pool, uint64_t pages);
void planner_take_back(Planner *planner, const PlanInstance *owner, PlanPool *pool, uint64_t pages);

/* Return how many pages the pool gives back with the present grants, and how many more it could with fewer grants.
 * Existing pages stay. */
uint64_t planner_given_back(const Planner *planner, const PlanPool *pool);
uint64_t planner_yield(const Planner *planner, const PlanPool *pool);

/* Returns a limit that an attempt has shown: no more pages or, if CANNOT_DEMOTE, no demotion; NULL: none. */
const PoolLimit *planner_limit(const Planner *planner, const PlanPool *pool, bool cannot_demote);

/* Returns how many pages more than PAGES memory can give the pool: its node's room, within limits that attempts have
 * shown. Surplus pages in use become persistent ones first, and cost nothing. */
uint64_t planner_growth(const Planner *planner, const PlanPool *pool, uint64_t pages);

/* Sets the target of each pool after all instances have been served. */
void planner_set_targets(Planner *planner);

/* ---- cover (plan_cover.c) ---- */

/* Makes pools larger if a unit may take pages that others are bound to, as long as it may. */
void planner_cover(Planner *planner);

/* ---- serving (plan_serve.c) ---- */

/* Returns whether the instance is to have nothing for now, and so lacks nothing. */
bool planner_is_left_out(const PlanInstance *instance);

/* ---- places (plan_place.c) ---- */

/* What a node would give to one instance. */
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

/* Places all that OPTION wants; returns false if it does not fit. */
bool candidate_place_whole(const Planner *planner, const PlanInstance *instance,
                           const DemandOption *option, Candidate *candidate);

/* Places as much as fits of what the instance does not have yet. */
void candidate_place_part(const PlanInstance *instance, const DemandOption *option,
                          Candidate *candidate);

/* Grants the candidate's pages, besides those that the instance has. */
void candidate_commit(Planner *planner, PlanInstance *instance, const DemandOption *option,
                      const Candidate *candidate);

/* Takes back all that the instance was granted. */
void planner_give_up(Planner *planner, PlanInstance *instance);

/* Returns the option of DEMAND by which the instance was served before; NULL if its demand is another one now. */
const DemandOption *planner_find_option(const LedgerInstance *before, const DemandInstance *demand);

/* Returns what the instance had before: by the ledger, or what its unit runs with if the ledger has nothing or another
 * demand; NULL: nothing. */
const LedgerInstance *planner_before(const Planner *planner, const PlanInstance *instance);

/* ---- reasons (plan_reason.c) ---- */

Reason planner_explain(Planner *planner, const PlanInstance *instance, const DemandOption *option,
                       const Candidate *candidate);
