/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/size.h"
#include "base/text.h"
#include "demand/unit_policy.h"
#include "plan/planner/planner.h"

#include <stdlib.h>

/* ---- pools ---- */

PlanPool *planner_pool(const Planner *planner, unsigned node, uint64_t page_size_bytes) {
        return (PlanPool *) plan_pool(planner->plan, node, page_size_bytes);
}

/* ---- others' pages ---- */

/* Adds the pages of GRANTED to PAGES, by node, less those of BUT (NULL: nothing) there. */
static void add_granted(const Planner *planner, const LedgerInstance *granted,
                        const LedgerInstance *but, size_t k, uint64_t *pages) {
        const Topology *topology = planner->input->topology;
        uint64_t page_size_bytes = topology->page_sizes[k].bytes;

        if (granted->page_size_bytes != page_size_bytes)
                return;
        VEC_FOREACH(grant, &granted->grants) {
                size_t node = topology_node_index(topology, grant->node);
                uint64_t less = but && but->page_size_bytes == page_size_bytes
                                        ? ledger_pages_on(but, grant->node)
                                        : 0;

                if (node < topology->n_nodes)
                        pages[node] = add_saturated(pages[node], sub_floored(grant->pages, less));
        }
}

/* Returns, by node, what running units keep, and what instances had beyond that and likely get again. */
static uint64_t *reserved_before(const Planner *planner, size_t k) {
        const Ledger *ledger = planner->input->ledger;
        uint64_t *pages =
                ARENA_ARRAY(planner->scratch, uint64_t, planner->input->topology->n_nodes);

        if (!planner->input->is_restarted)
                VEC_FOREACH(hold, &ledger->holds)
                        add_granted(planner, &hold->granted, NULL, k, pages);
        VEC_FOREACH(instance, &ledger->instances) {
                const PlanInstance *planned = plan_find(planner->plan, instance->name);

                add_granted(planner, instance,
                            planned && planned->hold ? &planned->hold->granted : NULL, k, pages);
        }
        return pages;
}

/* Assigns promises of others to POOLS, which are those of the size of index K. As far as is known any node's free pages
 * can serve them, so pages on which no instance depends come first: pages that hugeplan has not reserved, then pages of
 * nodes that no instance is bound to. */
static void lay_promises_of_others(Planner *planner, size_t k, PlanPool *pools, size_t n) {
        const Promises *promises = &planner->promises[k];
        uint64_t left = promises->others_promised_pages;
        uint64_t *free_pages = topology_free_pages(planner->scratch, planner->input->topology, k);

        if (left == 0)
                return;
        const uint64_t *reserved = reserved_before(planner, k);
        uint64_t bytes = planner->input->topology->page_sizes[k].bytes;
        IdSet bound = {};

        ARRAY_FOREACH(instance, planner->plan->instances, planner->plan->n_instances)
                if (instance->demand->policy.kind == MEMORY_POLICY_BIND &&
                    ARRAY_ANY(option, instance->demand->options, instance->demand->n_options,
                              option->page_size_bytes == bytes))
                        id_set_add_all(&bound, &instance->demand->policy.nodes);

        for (int pass = 0; pass < 3; pass++)
                ARRAY_FOREACH(pool, pools, n) {
                        size_t node = pool->node_index;
                        uint64_t *here = &free_pages[node];
                        uint64_t can_give = *here;
                        uint64_t used_by_known = sub_floored(pool_used_pages(pool->now),
                                                             promises->others_used[node]);

                        if (pass == 0)
                                can_give = sub_floored(*here,
                                                       sub_floored(reserved[node], used_by_known));
                        if (pass == 1 && id_set_has(&bound, pool->node))
                                can_give = 0;
                        can_give = MIN(can_give, left);
                        pool->others_pages += can_give;
                        *here -= can_give;
                        left -= can_give;
                }
}

/* ---- making pools ---- */

static uint64_t *kept_pages_of(const Planner *planner, const PlanInstance *instance,
                               const PlanPool *pool) {
        const Plan *plan = planner->plan;

        return &planner->kept_pages[(size_t) (instance - plan->instances) * plan->n_pools +
                                    (size_t) (pool - plan->pools)];
}

/* Keeps PAGES for OWNER (NULL: no instance), as far as the pool has them, or can have them again. What the instance's hold
 * keeps in a pool comes first. */
static void keep_pages(Planner *planner, const PlanInstance *owner, const NodePages *pages,
                       uint64_t page_size_bytes) {
        PlanPool *pool = planner_pool(planner, pages->node, page_size_bytes);

        if (!pool)
                return;
        uint64_t kept = MIN(pages->pages, planner_capacity(planner, pool));
        uint64_t *known = owner ? kept_pages_of(planner, owner, pool) : NULL;

        planner_grant(planner, NULL, pool, kept);
        if (known && *known == 0)
                *known = kept;
}

/* Returns the instance whose unit was started with HOLD; NULL: it is described no more. */
static const PlanInstance *find_owner(const Plan *plan, const LedgerHold *hold) {
        const PlanInstance *named = plan_find(plan, hold->granted.name);

        return named && named->hold == hold
                       ? named
                       : ARRAY_FIND(each, plan->instances, plan->n_instances, each->hold == hold);
}

/* Keeps what an instance without a unit may have, or what its mount has, whether or not it is granted more; unless a
 * tentative hold keeps all that it had. */
static void keep_unitless(Planner *planner, size_t k, const Promise *row) {
        const char *instance = row->unitless ? row->unitless : row->mount_of;
        uint64_t page_size_bytes = planner->input->topology->page_sizes[k].bytes;
        uint64_t left = row->unitless
                                ? MIN(row->granted_pages, planner->promises[k].all_unitless_pages)
                                : row->used_pages + row->pages + row->likely_pages;
        const LedgerInstance *before = ledger_instance(planner->input->ledger, instance);

        if (!before || VEC_ANY(hold, &planner->input->ledger->holds,
                               hold->is_tentative && text_equals(hold->granted.name, instance)))
                return;
        /* Kept where they were granted: if its processes have taken other pages, as many are free here for others. */
        VEC_FOREACH(grant, &before->grants) {
                const NodePages pages = {grant->node, MIN(left, grant->pages)};

                if (!planner_pool(planner, grant->node, page_size_bytes))
                        continue;
                left -= pages.pages;
                keep_pages(planner, plan_find(planner->plan, instance), &pages, page_size_bytes);
        }
}

void planner_add_pools(Planner *planner) {
        const Topology *topology = planner->input->topology;
        const Ledger *ledger = planner->input->ledger;
        Plan *plan = planner->plan;

        plan->pools =
                ARENA_ARRAY(planner->arena, PlanPool, topology->n_nodes * topology->n_page_sizes);
        planner->balances = ARENA_ARRAY(planner->scratch, Balance *, topology->n_page_sizes);
        /* The most important pools first: the largest pages are the hardest to get. */
        for (size_t k = 0; k < topology->n_page_sizes; k++) {
                const Promises *promises = &planner->promises[k];
                const Balance *balance = planner->balances[k] =
                        balance_new(planner->scratch, promises,
                                    topology_free_pages(planner->scratch, topology, k), true);
                size_t first = plan->n_pools;

                for (size_t i = 0; i < topology->n_nodes; i++) {
                        const Pool *pool = &topology->nodes[i].pools[k];
                        const LedgerPool *known =
                                ledger_pool(ledger, topology->nodes[i].id, pool->page_size_bytes);

                        if (pool->exists)
                                plan->pools[plan->n_pools++] = (PlanPool){
                                        .node = topology->nodes[i].id,
                                        .page_size_bytes = pool->page_size_bytes,
                                        .node_index = i,
                                        .size_index = k,
                                        .now = pool,
                                        .found_pages = known ? known->found_pages
                                                             : pool_persistent_pages(pool),
                                        .added_pages = known ? known->added_pages : 0,
                                        .uncounted_pages = promises->uncounted_used[i],
                                        .others_pages = promises->others_used[i],
                                        .spare_pages = balance_spare_pages(balance, i),
                                        .from_pages = pool_persistent_pages(pool),
                                };
                }
                lay_promises_of_others(planner, k, plan->pools + first, plan->n_pools - first);
        }
        planner->kept_pages =
                ARENA_ARRAY(planner->scratch, uint64_t, plan->n_instances * plan->n_pools);
        if (planner->input->is_restarted)
                return;
        VEC_FOREACH(hold, &ledger->holds) {
                const PlanInstance *owner = find_owner(plan, hold);

                VEC_FOREACH(grant, &hold->granted.grants)
                        keep_pages(planner, owner, grant, hold->granted.page_size_bytes);
        }
        for (size_t k = 0; k < topology->n_page_sizes; k++)
                VEC_FOREACH(row, &planner->promises[k].list)
                        if (row->unitless || row->mount_of)
                                keep_unitless(planner, k, row);
}

uint64_t planner_held_pages(const Planner *planner, const PlanInstance *instance,
                            const PlanPool *pool) {
        return *kept_pages_of(planner, instance, pool);
}

void planner_share(Planner *planner) {
        const Topology *topology = planner->input->topology;
        Plan *plan = planner->plan;

        planner->auto_bytes = ARENA_ARRAY(planner->scratch, uint64_t, topology->n_nodes);
        for (size_t i = 0; i < topology->n_nodes; i++) {
                planner->auto_bytes[i] =
                        bound_node_bytes(planner->input->host, &topology->nodes[i]);
                if (topology->nodes[i].memory_bytes > 0)
                        plan->auto_bytes += planner->auto_bytes[i];
        }
        ARRAY_FOREACH(instance, plan->instances, plan->n_instances) {
                size_t n = planner_is_automatic(instance) ? plan->n_pools : 0;

                ARRAY_FOREACH(pool, plan->pools, n) {
                        uint64_t *left = planner_auto_bytes(planner, instance, pool);

                        *left = sub_floored(
                                *left, mul_saturated(planner_held_pages(planner, instance, pool),
                                                     pool->page_size_bytes));
                }
        }
}

/* ---- capacity ---- */

const PoolLimit *planner_limit(const Planner *planner, const PlanPool *pool, bool cannot_demote) {
        const PoolLimits *limits = planner->input->limits;

        return !limits ? NULL
                       : VEC_FIND(limit, limits,
                                  limit->node == pool->node &&
                                          limit->page_size_bytes == pool->page_size_bytes &&
                                          limit->cannot_demote == cannot_demote);
}

/* Returns what the pool has to hold so far: pages that hugeplan cannot grant, and granted ones. */
static uint64_t taken_pages(const Planner *planner, const PlanPool *pool) {
        bool is_found_kept = planner->input->host->existing_pages == EXISTING_KEEP;

        return add_saturated(MAX(is_found_kept ? pool->found_pages : 0, pool->others_pages),
                             pool->granted_pages);
}

/* Returns the pages that need no memory: surplus pages in use become persistent ones first. */
static uint64_t backed_pages(const PlanPool *pool) {
        return add_saturated(plan_pool_present_pages(pool), pool->now->surplus_pages);
}

/* Returns the pages for which memory has to be found. */
static uint64_t new_pages(const Planner *planner, const PlanPool *pool) {
        return sub_floored(taken_pages(planner, pool), backed_pages(pool));
}

uint64_t planner_growth(const Planner *planner, const PlanPool *pool, uint64_t pages) {
        uint64_t room_pages = planner->room_bytes[pool->node_index] / pool->page_size_bytes;
        const PoolLimit *limit = planner_limit(planner, pool, false);
        uint64_t more = sub_floored(pages, backed_pages(pool));

        if (!limit)
                return room_pages;
        return MIN(room_pages, sub_floored(limit->persistent_pages,
                                           add_saturated(plan_pool_present_pages(pool), more)));
}

/* Returns the free pages of LARGE that no instance has asked for, and that can be demoted to pages of SMALL: existing
 * pages that may be used. */
static uint64_t demotable_from(const Planner *planner, const PlanPool *large,
                               const PlanPool *small) {
        if (large->now->demote_to_bytes != small->page_size_bytes ||
            planner->input->host->existing_pages == EXISTING_KEEP ||
            planner_limit(planner, large, true))
                return 0;
        return MIN(sub_floored(large->spare_pages, large->demoted_pages),
                   sub_floored(plan_pool_present_pages(large), taken_pages(planner, large)));
}

/* Returns the next pool of larger pages on the same node, NULL after the last; *AT begins at 0. */
static PlanPool *next_larger(const Planner *planner, const PlanPool *pool, size_t *at) {
        const Topology *topology = planner->input->topology;

        while (*at < pool->size_index) {
                PlanPool *large =
                        planner_pool(planner, pool->node, topology->page_sizes[(*at)++].bytes);

                if (large)
                        return large;
        }
        return NULL;
}

uint64_t planner_demotable(const Planner *planner, const PlanPool *pool) {
        uint64_t pages = 0;
        size_t at = 0;

        for (const PlanPool *large; (large = next_larger(planner, pool, &at));)
                pages += demotable_from(planner, large, pool) *
                         (large->page_size_bytes / pool->page_size_bytes);
        return pages;
}

uint64_t planner_untaken(const Planner *planner, const PlanPool *pool) {
        return sub_floored(backed_pages(pool), taken_pages(planner, pool));
}

uint64_t planner_capacity(const Planner *planner, const PlanPool *pool) {
        return add_saturated(
                add_saturated(planner_untaken(planner, pool),
                              planner_growth(planner, pool, taken_pages(planner, pool))),
                planner_demotable(planner, pool));
}

/* Takes memory first; existing pages are demoted only for what memory cannot give. A demoted page may give more than
 * was missing, and less memory is then needed. */
void planner_grant(Planner *planner, const PlanInstance *owner, PlanPool *pool, uint64_t pages) {
        uint64_t *left = owner ? planner_auto_bytes(planner, owner, pool) : NULL;
        uint64_t *room = &planner->room_bytes[pool->node_index];
        uint64_t can_grow = planner_growth(planner, pool, taken_pages(planner, pool));
        uint64_t before = new_pages(planner, pool);
        size_t at = 0;

        if (left)
                *left = sub_floored(*left, mul_saturated(pages, pool->page_size_bytes));
        planner->n_grants++;
        pool->granted_pages = add_saturated(pool->granted_pages, pages);
        uint64_t short_of = sub_floored(new_pages(planner, pool) - before, can_grow);

        for (PlanPool *large; short_of > 0 && (large = next_larger(planner, pool, &at));) {
                uint64_t ratio = large->page_size_bytes / pool->page_size_bytes;
                uint64_t n =
                        MIN(demotable_from(planner, large, pool), div_round_up(short_of, ratio));

                large->demoted_pages += n;
                large->demote_to_bytes = pool->page_size_bytes;
                pool->gained_pages += n * ratio;
                short_of = sub_floored(short_of, n * ratio);
        }
        *room = sub_floored(*room, mul_saturated(sub_floored(new_pages(planner, pool), before),
                                                 pool->page_size_bytes));
}

/* Pages that were demoted for the grant stay demoted. */
void planner_take_back(Planner *planner, const PlanInstance *owner, PlanPool *pool,
                       uint64_t pages) {
        uint64_t *left = planner_auto_bytes(planner, owner, pool);
        uint64_t before = new_pages(planner, pool);

        if (left)
                *left = add_saturated(*left, mul_saturated(pages, pool->page_size_bytes));
        planner->n_grants++;
        pool->granted_pages -= pages;
        planner->room_bytes[pool->node_index] += (before - new_pages(planner, pool)) *
                                                 pool->page_size_bytes;
}

static uint64_t found_now(const PlanPool *pool) {
        return sub_floored(pool->found_pages, pool->demoted_pages) + pool->gained_pages;
}

uint64_t planner_given_back(const Planner *planner, const PlanPool *pool) {
        return sub_floored(plan_pool_present_pages(pool),
                           MAX(found_now(pool), taken_pages(planner, pool)));
}

uint64_t planner_yield(const Planner *planner, const PlanPool *pool) {
        uint64_t taken = taken_pages(planner, pool);

        return taken > plan_pool_present_pages(pool) ? 0 : sub_floored(taken, found_now(pool));
}

/* ---- targets ---- */

/* Returns the persistent pages needed. For others alone no pool is raised, nor their surplus pages made persistent; what
 * they have added since hugeplan was there stays beside the granted pages. */
static uint64_t persistent_pages(const Planner *planner, const PlanPool *pool) {
        uint64_t taken = taken_pages(planner, pool), present = plan_pool_present_pages(pool);
        uint64_t surplus = MIN(pool->now->surplus_pages, pool->others_pages);
        uint64_t added = MIN(pool->added_pages, found_now(pool));

        if (new_pages(planner, pool) == 0)
                taken = MIN(taken, MAX(present, sub_floored(taken, surplus)));
        return MAX(taken, MIN(present, add_saturated(pool->granted_pages, added)));
}

/* Sets each target: the existing pages, or the instances' pages and those of others if these are more; if that is fewer
 * than now, as many more as promises need. */
void planner_set_targets(Planner *planner) {
        ARRAY_FOREACH(pool, planner->plan->pools, planner->plan->n_pools)
                balance_change(planner->balances[pool->size_index], pool->node_index,
                               pool->demoted_pages, pool->gained_pages);
        ARRAY_FOREACH(pool, planner->plan->pools, planner->plan->n_pools) {
                Balance *balance = planner->balances[pool->size_index];
                uint64_t found = found_now(pool);
                uint64_t present = plan_pool_present_pages(pool);
                size_t node = pool->node_index;
                uint64_t fewer;

                pool->to_pages = pool->granted_pages > 0
                                         ? MAX(found, persistent_pages(planner, pool))
                                         : found;
                if (planner->input->is_incomplete)
                        pool->to_pages = MAX(pool->to_pages, present);
                if (pool->to_pages >= present)
                        continue;
                fewer = MIN(present - pool->to_pages, balance_spare_pages(balance, node));
                /* Pages that others have are there anyway, and are no cover. */
                pool->cover_pages =
                        sub_floored(present - fewer,
                                    MAX(pool->to_pages, MIN(present, taken_pages(planner, pool))));
                pool->to_pages = present - fewer;
                balance_change(balance, node, fewer, 0);
        }
}
