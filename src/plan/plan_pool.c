/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/size.h"
#include "base/text.h"
#include "plan/planner.h"

/* ---- pools ---- */

PlanPool *planner_pool(const Planner *planner, unsigned node, uint64_t page_size_bytes) {
        return (PlanPool *) plan_pool(planner->plan, node, page_size_bytes);
}

/* ---- what others have ---- */

static bool is_bound_to(const Planner *planner, unsigned node, uint64_t page_size_bytes) {
        return ARRAY_ANY(instance, planner->plan->instances, planner->plan->n_instances,
                         instance->demand->policy.kind == MEMORY_POLICY_BIND &&
                                 id_set_has(&instance->demand->policy.nodes, node) &&
                                 ARRAY_ANY(option, instance->demand->options,
                                           instance->demand->n_options,
                                           option->page_size_bytes == page_size_bytes));
}

static uint64_t granted_in(const LedgerInstance *granted, const PlanPool *pool) {
        return granted->page_size_bytes == pool->page_size_bytes
                       ? ledger_pages_on(granted, pool->node)
                       : 0;
}

/* What units that run keep of a pool, and what instances had of it beyond that and likely get again. */
static uint64_t reserved_before(const Planner *planner, const PlanPool *pool) {
        const Ledger *ledger = planner->input->ledger;
        uint64_t pages = 0;

        if (!planner->input->is_restarted)
                VEC_FOREACH(hold, &ledger->holds)
                        pages = add_saturated(pages, granted_in(&hold->granted, pool));
        VEC_FOREACH(instance, &ledger->instances) {
                const PlanInstance *planned = plan_find(planner->plan, instance->name);
                uint64_t held = planned && planned->hold ? granted_in(&planned->hold->granted, pool)
                                                         : 0;

                pages = add_saturated(pages, sub_floored(granted_in(instance, pool), held));
        }
        return pages;
}

/* Promises of others can be served by any node's free pages, as far as is known. They are laid where
 * nobody of ours depends on the pages: first to those that were not reserved by us, then to nodes to
 * which nobody is bound. */
static void lay_promises_of_others(Planner *planner, size_t k) {
        uint64_t left = planner->promises[k].others_promised_pages;
        uint64_t *free_pages = topology_free_pages(planner->arena, planner_topology(planner), k);

        for (int pass = 0; pass < 3; pass++)
                ARRAY_FOREACH(pool, planner->plan->pools, planner->plan->n_pools) {
                        size_t node = planner_node_index(planner, pool);
                        uint64_t *here = &free_pages[node];
                        uint64_t can_give = *here;

                        if (pool->page_size_bytes != planner_topology(planner)->page_sizes[k].bytes)
                                continue;
                        uint64_t used_by_known =
                                sub_floored(pool_used_pages(planner_pool_now(planner, pool)),
                                            planner->promises[k].others_used[node]);

                        if (pass == 0)
                                can_give = sub_floored(
                                        *here,
                                        sub_floored(reserved_before(planner, pool), used_by_known));
                        if (pass == 1 && is_bound_to(planner, pool->node, pool->page_size_bytes))
                                can_give = 0;
                        can_give = MIN(can_give, left);
                        pool->others_pages += can_give;
                        *here -= can_give;
                        left -= can_give;
                }
}

/* ---- making them ---- */

/* As far as the pool has them, or can have them again. */
static void keep_pages(Planner *planner, const LedgerHold *hold, const char *loose,
                       const NodePages *pages, uint64_t page_size_bytes) {
        PlanPool *pool = planner_pool(planner, pages->node, page_size_bytes);

        if (!pool)
                return;
        uint64_t kept = MIN(pages->pages, planner_capacity(planner, pool));

        planner_grant(planner, pool, kept);
        *vec_push(planner->arena, &planner->kept) = (Kept){hold, loose, pool, kept};
}

/* What an instance without a unit likely has it keeps, and what its mount has, whether or not it is granted
 * more; unless all that it had is kept anyway. */
static void keep_loose(Planner *planner, size_t k, const Promise *row) {
        const char *instance = row->loose ? row->loose : row->mount_of;
        uint64_t page_size_bytes = planner_topology(planner)->page_sizes[k].bytes;
        uint64_t left = row->used_pages + row->pages + row->likely_pages;
        const LedgerInstance *before = ledger_instance(planner->input->ledger, instance);

        if (!before || VEC_ANY(hold, &planner->input->ledger->holds,
                               hold->is_tentative && text_equals(hold->granted.name, instance)))
                return;
        /* By its grants, wherever the pages are that it has taken: others have theirs in exchange. */
        VEC_FOREACH(grant, &before->grants) {
                const NodePages pages = {grant->node, MIN(left, grant->pages)};

                if (!planner_pool(planner, grant->node, page_size_bytes))
                        continue;
                left -= pages.pages;
                keep_pages(planner, NULL, instance, &pages, page_size_bytes);
        }
}

void planner_add_pools(Planner *planner) {
        const Topology *topology = planner_topology(planner);
        const Ledger *ledger = planner->input->ledger;
        Plan *plan = planner->plan;

        plan->pools =
                ARENA_ARRAY(planner->arena, PlanPool, topology->n_nodes * topology->n_page_sizes);
        /* The most important pools first: the largest pages are the hardest to get. */
        for (size_t k = 0; k < topology->n_page_sizes; k++) {
                const Promises *promises = &planner->promises[k];
                const Balance *balance = balance_new(
                        planner->arena, promises, topology_free_pages(planner->arena, topology, k));

                for (size_t i = 0; i < topology->n_nodes; i++) {
                        const Pool *pool = &topology->nodes[i].pools[k];
                        const LedgerPool *known =
                                ledger_pool(ledger, topology->nodes[i].id, pool->page_size_bytes);

                        if (pool->exists)
                                plan->pools[plan->n_pools++] = (PlanPool){
                                        .node = topology->nodes[i].id,
                                        .page_size_bytes = pool->page_size_bytes,
                                        .found_pages = known ? known->found_pages
                                                             : pool_persistent_pages(pool),
                                        .others_used_pages = promises->others_used[i],
                                        .others_pages = promises->others_used[i],
                                        .spare_pages = balance_spare_pages(balance, i),
                                        .from_pages = pool_persistent_pages(pool),
                                };
                }
                lay_promises_of_others(planner, k);
        }
        if (planner->input->is_restarted)
                return;
        VEC_FOREACH(hold, &ledger->holds)
                VEC_FOREACH(grant, &hold->granted.grants)
                        keep_pages(planner, hold, NULL, grant, hold->granted.page_size_bytes);
        for (size_t k = 0; k < topology->n_page_sizes; k++)
                VEC_FOREACH(row, &planner->promises[k].list)
                        if (row->loose || row->mount_of)
                                keep_loose(planner, k, row);
}

/* ---- capacity ---- */

const PoolLimit *planner_limit(const Planner *planner, const PlanPool *pool, bool cannot_demote) {
        return !planner->input->limits
                       ? NULL
                       : VEC_FIND(limit, planner->input->limits,
                                  limit->node == pool->node &&
                                          limit->page_size_bytes == pool->page_size_bytes &&
                                          limit->cannot_demote == cannot_demote);
}

/* What the pool has to hold so far: pages that are not ours to grant, and granted ones. */
static uint64_t taken_pages(const Planner *planner, const PlanPool *pool) {
        bool is_found_kept = planner->input->host->existing_pages == EXISTING_KEEP;

        return add_saturated(MAX(is_found_kept ? pool->found_pages : 0, pool->others_pages),
                             pool->granted_pages);
}

/* Pages that are there, without a write: surplus pages in use become persistent ones first, and cost
 * nothing. */
static uint64_t standing_pages(const Planner *planner, const PlanPool *pool) {
        return add_saturated(plan_pool_present_pages(pool),
                             planner_pool_now(planner, pool)->surplus_pages);
}

/* For which memory has to be found. */
static uint64_t new_pages(const Planner *planner, const PlanPool *pool) {
        return sub_floored(taken_pages(planner, pool), standing_pages(planner, pool));
}

uint64_t planner_growth(const Planner *planner, const PlanPool *pool, uint64_t pages) {
        uint64_t room_pages = planner->room_bytes[planner_node_index(planner, pool)] /
                              pool->page_size_bytes;
        const PoolLimit *limit = planner_limit(planner, pool, false);
        uint64_t more = sub_floored(pages, standing_pages(planner, pool));

        if (!limit)
                return room_pages;
        return MIN(room_pages, sub_floored(limit->persistent_pages,
                                           add_saturated(plan_pool_present_pages(pool), more)));
}

/* Free pages of a larger pool that nobody has asked for, and that can be demoted to pages of SMALL:
 * only found ones that may be used. */
static uint64_t demotable_from(const Planner *planner, const PlanPool *large,
                               const PlanPool *small) {
        if (planner_pool_now(planner, large)->demote_to_bytes != small->page_size_bytes ||
            planner->input->host->existing_pages == EXISTING_KEEP ||
            planner_limit(planner, large, true))
                return 0;
        return MIN(sub_floored(large->spare_pages, large->demoted_pages),
                   sub_floored(plan_pool_present_pages(large), taken_pages(planner, large)));
}

/* The pools of larger pages on the same node; *AT begins at 0. NULL behind the last. */
static PlanPool *next_larger(const Planner *planner, const PlanPool *pool, size_t *at) {
        const Topology *topology = planner_topology(planner);

        while (*at < planner_size_index(planner, pool)) {
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

uint64_t planner_standing(const Planner *planner, const PlanPool *pool) {
        return sub_floored(standing_pages(planner, pool), taken_pages(planner, pool));
}

uint64_t planner_capacity(const Planner *planner, const PlanPool *pool) {
        return add_saturated(
                add_saturated(planner_standing(planner, pool),
                              planner_growth(planner, pool, taken_pages(planner, pool))),
                planner_demotable(planner, pool));
}

/* Memory first; existing pages are demoted only for what it cannot give. A demoted page may bring more than
 * was missing, and memory is then asked for less. */
void planner_grant(Planner *planner, PlanPool *pool, uint64_t pages) {
        uint64_t *room = &planner->room_bytes[planner_node_index(planner, pool)];
        uint64_t can_grow = planner_growth(planner, pool, taken_pages(planner, pool));
        uint64_t before = new_pages(planner, pool);
        size_t at = 0;

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

/* Pages that were demoted for it stay so. */
void planner_take_back(Planner *planner, PlanPool *pool, uint64_t pages) {
        uint64_t before = new_pages(planner, pool);

        pool->granted_pages -= pages;
        planner->room_bytes[planner_node_index(planner, pool)] +=
                (before - new_pages(planner, pool)) * pool->page_size_bytes;
}

/* ---- targets ---- */

/* For others alone no pool is raised, nor to make their surplus pages persistent. */
static uint64_t persistent_pages(const Planner *planner, const PlanPool *pool) {
        uint64_t taken = taken_pages(planner, pool);
        uint64_t surplus = MIN(planner_pool_now(planner, pool)->surplus_pages, pool->others_pages);

        return new_pages(planner, pool) > 0 ? taken
                                            : MIN(taken, MAX(plan_pool_present_pages(pool),
                                                             sub_floored(taken, surplus)));
}

/* What has to stand in the pool: what was found, the instances' pages on top of what others have,
 * and, when that is less than now, as much more as promises want. */
void planner_set_targets(Planner *planner) {
        const Topology *topology = planner_topology(planner);
        Balance **balances = ARENA_ARRAY(planner->arena, Balance *, topology->n_page_sizes);

        for (size_t k = 0; k < topology->n_page_sizes; k++)
                balances[k] = balance_new(planner->arena, &planner->promises[k],
                                          topology_free_pages(planner->arena, topology, k));
        ARRAY_FOREACH(pool, planner->plan->pools, planner->plan->n_pools) {
                Balance *balance = balances[planner_size_index(planner, pool)];

                balance_remove(balance, planner_node_index(planner, pool), pool->demoted_pages);
                balance_add(balance, planner_node_index(planner, pool), pool->gained_pages);
        }
        ARRAY_FOREACH(pool, planner->plan->pools, planner->plan->n_pools) {
                Balance *balance = balances[planner_size_index(planner, pool)];
                uint64_t found = sub_floored(pool->found_pages, pool->demoted_pages) +
                                 pool->gained_pages;
                uint64_t present = plan_pool_present_pages(pool);
                size_t node = planner_node_index(planner, pool);

                pool->to_pages = pool->granted_pages > 0
                                         ? MAX(found, persistent_pages(planner, pool))
                                         : found;
                if (planner->input->is_incomplete)
                        pool->to_pages = MAX(pool->to_pages, present);
                if (pool->to_pages >= present)
                        continue;
                uint64_t fewer = MIN(present - pool->to_pages, balance_spare_pages(balance, node));

                pool->to_pages = present - fewer;
                balance_remove(balance, node, fewer);
        }
}
