/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Cover: pages beyond the granted ones that keep units from taking what others depend on (plan/promise/admission.h). */
#include "base/size.h"
#include "base/text.h"
#include "plan/planner/planner.h"

/* Returns the free pages once the plan is applied: raising a pool makes surplus pages persistent first. */
static uint64_t *free_then(const Planner *planner, size_t k) {
        uint64_t *pages = topology_free_pages(planner->scratch, planner->input->topology, k);

        ARRAY_FOREACH(pool, planner->plan->pools, planner->plan->n_pools) {
                uint64_t *here = &pages[pool->node_index];
                uint64_t present = plan_pool_present_pages(pool);

                if (pool->size_index != k)
                        continue;
                *here = sub_floored(*here + pool->gained_pages, pool->demoted_pages);
                *here += sub_floored(pool->to_pages, present + pool->now->surplus_pages);
                *here = sub_floored(*here, sub_floored(present, pool->to_pages));
        }
        return pages;
}

/* Adds up to PAGES free pages on NODES; returns false if none are wanted or available. First pages that were to be given
 * back, which need no new memory; a start gets none of those that KeepFree= lacks. */
static bool raise_in(Planner *planner, size_t k, const IdSet *nodes, uint64_t pages,
                     bool is_start) {
        uint64_t bytes = planner->input->topology->page_sizes[k].bytes, left = pages;

        ID_SET_FOREACH(node, nodes) {
                PlanPool *pool = planner_pool(planner, node, bytes);

                if (!pool)
                        continue;
                const Node *home = topology_node(planner->input->topology, node);
                uint64_t lacked = is_start ? plan_node_shortage_bytes(planner->input->host, home)
                                           : 0;
                uint64_t kept =
                        MIN(left, sub_floored(plan_pool_present_pages(pool),
                                              pool->to_pages + div_round_up(lacked, bytes)));

                pool->to_pages += kept;
                pool->cover_pages += kept;
                left -= kept;
        }
        ID_SET_FOREACH(node, nodes) {
                PlanPool *pool = planner_pool(planner, node, bytes);

                if (!pool)
                        continue;
                uint64_t before = pool->to_pages,
                         more = MIN(left, planner_growth(planner, pool, before));

                if (more == 0)
                        continue;
                /* Surplus pages in use become persistent before the pool gets new pages. */
                pool->to_pages =
                        MAX(before, plan_pool_present_pages(pool) + pool->now->surplus_pages) +
                        more;
                pool->cover_pages += pool->to_pages - before;
                planner->room_bytes[pool->node_index] -= more * bytes;
                left -= more;
        }
        return left < pages;
}

Starter plan_starter(const PlanInput *input, const Promises *promises,
                     const PlanInstance *instance) {
        const char *name = instance->demand->config->name;
        /* Its own already: pages that it likely uses or was promised without a unit, and those that its mount keeps, in use
         * by files that it left there or taken from the free pages of its nodes that no one else counts on. */
        const Promise *row = index_find(promises->by_instance, name);
        Starter starter = {
                .instance = name,
                .unit = instance->demand->config->unit,
                .policy = instance->demand->policy,
                .grants = instance->grants,
                .pages = sub_floored(plan_starter_pages(input, instance),
                                     row ? row->used_pages + row->likely_pages : 0),
                .used = row ? row->used : NULL,
                .has_mount = index_find(promises->mounts, name),
        };

        if (input->starting)
                VEC_FOREACH(starting, input->starting)
                        if (!starting->is_refused && text_equals(starting->instance, name)) {
                                starter.policy = promise_policy_within(
                                        input->topology, &starting->policy,
                                        unit_use_find(input->use, starting->unit));
                                starter.is_now = true;
                        }
        return starter;
}

/* Returns whether a cover can wait: by counts that changed while they were read, only units that start now are covered. */
static bool can_wait(const Planner *planner, const Starter *starter) {
        return planner->input->use && planner->input->use->is_moving &&
               !(starter && starter->is_now);
}

PlanStarters plan_find_starters(Arena *arena, const PlanInput *input, const Plan *plan,
                                const bool *is_running, const Promises *promises,
                                const uint64_t *free_pages) {
        uint64_t page_size_bytes = promises->topology->page_sizes[promises->size].bytes;
        PlanStarters found = {.instances = ARENA_ARRAY(arena, PlanInstance *, plan->n_instances)};

        ARRAY_FOREACH(each, plan->order, plan->n_instances) {
                PlanInstance *instance = *each;

                if (!is_running[instance - plan->instances] &&
                    instance->page_size_bytes == page_size_bytes &&
                    plan_starter_pages(input, instance) > 0 &&
                    (!input->is_alone || plan_starter(input, promises, instance).is_now))
                        found.instances[found.n++] = instance;
        }
        found.starters = ARENA_ARRAY(arena, Starter, found.n);
        found.lacks = ARENA_ARRAY(arena, Lack, found.n);
        for (size_t i = 0; i < found.n; i++)
                found.starters[i] = plan_starter(input, promises, found.instances[i]);
        promises_admit(arena, promises, free_pages, found.starters, found.n, found.lacks);
        return found;
}

/* Covers running units; no memory is spent on promises without a known owner. Returns whether a pool grew. */
static bool cover_units(Planner *planner, size_t k) {
        const Promises *promises = &planner->promises[k];
        uint64_t nobodys = promises->others_promised_pages;

        if (can_wait(planner, NULL))
                return false;
        const Exposures exposures =
                promises_exposures(planner->scratch, promises, free_then(planner, k), true);

        return VEC_ANY(exposure, &exposures,
                       exposure->pages > nobodys &&
                               raise_in(planner, k, &exposure->nodes,
                                        exposure->missing_pages - nobodys, false));
}

/* If memory for a cover is missing, keeps pages that were to be given back, for units that otherwise take those that
 * others depend on. Returns whether any are kept. */
static bool keep_if_short(Planner *planner, size_t k) {
        uint64_t n_kept = 0;
        Balance *balance =
                balance_new(planner->scratch, &planner->promises[k], free_then(planner, k), false);

        ARRAY_FOREACH(pool, planner->plan->pools, planner->plan->n_pools) {
                uint64_t kept =
                        pool->size_index == k
                                ? MIN(sub_floored(plan_pool_present_pages(pool), pool->to_pages),
                                      balance_missing_pages(balance, pool->node_index))
                                : 0;

                pool->to_pages += kept;
                pool->cover_pages += kept;
                balance_change(balance, pool->node_index, 0, kept);
                n_kept += kept;
        }
        return n_kept > 0;
}

/* Covers what needs pages of the size of index K, and records what then is exposed, and whom the cover protects. */
static void cover_size(Planner *planner, size_t k, const bool *is_running) {
        Arena *arena = planner->arena, *scratch = planner->scratch;
        Plan *plan = planner->plan;
        const Promises *promises = &planner->promises[k];
        uint64_t *cover_pages = ARENA_ARRAY(scratch, uint64_t, planner->input->topology->n_nodes);
        PlanStarters found;
        bool has_grown;

        do {
                while (cover_units(planner, k))
                        ;
                found = plan_find_starters(scratch, planner->input, plan, is_running, promises,
                                           free_then(planner, k));
                has_grown = false;
                /* Starters are covered against running units that take their pages in the worst order. */
                for (size_t i = 0; i < found.n && !has_grown; i++)
                        has_grown = !can_wait(planner, &found.starters[i]) &&
                                    raise_in(planner, k, &found.lacks[i].nodes,
                                             found.lacks[i].pages, true);
        } while (has_grown || keep_if_short(planner, k));
        for (size_t i = 0; i < found.n; i++)
                if (found.lacks[i].pages > 0)
                        found.instances[i]->exposed =
                                plan_explain_lack(arena, found.instances[i], &found.lacks[i]);
        const uint64_t *free_pages = free_then(planner, k);
        const Exposures left = promises_exposures(scratch, promises, free_pages, false);

        ARRAY_FOREACH(pool, plan->pools, plan->n_pools)
                if (pool->size_index == k)
                        cover_pages[pool->node_index] = pool->cover_pages;
        const Exposures covers = promises_covered(scratch, promises, free_pages, cover_pages,
                                                  found.starters, found.lacks, found.n);

        vec_push_all(arena, &plan->exposures, &left);
        vec_push_all(arena, &plan->covers, &covers);
}

void planner_cover(Planner *planner) {
        if (planner->input->is_restarted)
                return;
        const bool *is_running =
                plan_find_running(planner->scratch, planner->input, planner->plan, NULL);

        for (size_t k = 0; k < planner->input->topology->n_page_sizes; k++)
                cover_size(planner, k, is_running);
}
