/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/idle.h"

#include "base/size.h"
#include "base/text.h"

/* Returns the plan as if no pages had existed before hugeplan, and all pages in use that are not counted were others':
 * an instance that had nothing before has taken nothing unseen (plan/promise/promise.c). */
static const Plan *plan_as_own(Arena *arena, const PlanInput *input) {
        Ledger *ledger = ledger_copy(arena, input->ledger);
        typeof(ledger->instances) missing = {};
        PlanInput own = *input;

        VEC_FOREACH(pool, &ledger->pools) {
                pool->found_pages = 0;
                pool->others_pages = UINT64_MAX;
        }
        ARRAY_FOREACH(instance, input->demand->instances, input->demand->n_instances)
                if (!ledger_instance(ledger, instance->config->name))
                        *vec_push(arena, &missing) =
                                (LedgerInstance){.name = instance->config->name};
        VEC_FOREACH(instance, &missing)
                *vec_push(arena, &ledger->instances) = *instance;
        vec_sort_by_name(&ledger->instances);
        own.ledger = ledger;
        return plan_make(arena, &own);
}

IdlePools idle_pools_find(Arena *arena, const PlanInput *input, const Plan *plan) {
        IdlePools idle = {};

        if (input->host->existing_pages != EXISTING_USE)
                return idle;
        const Plan *own = plan_as_own(arena, input);

        ARRAY_FOREACH(planned, plan->pools, plan->n_pools) {
                const PlanPool *kept = plan_pool(own, planned->node, planned->page_size_bytes);
                const Pool *now =
                        topology_pool(input->topology, planned->node, planned->page_size_bytes);
                uint64_t bytes = planned->page_size_bytes;
                uint64_t pages =
                        MIN(sub_floored(planned->to_pages, kept->to_pages), now->free_pages);

                /* If a pool would have to be larger without existing pages of that size, these serve as a cover. */
                if (pages > 0 &&
                    !ARRAY_ANY(pool, own->pools, own->n_pools,
                               pool->page_size_bytes == bytes &&
                                       pool->to_pages >
                                               plan_pool(plan, pool->node, bytes)->to_pages))
                        *vec_push(arena, &idle) = (IdlePool){planned, pages};
        }
        return idle;
}

uint64_t plan_held_by_others(const Plan *plan, uint64_t page_size_bytes) {
        return ARRAY_SUM(pool, plan->pools, plan->n_pools,
                         pool->page_size_bytes != page_size_bytes
                                 ? 0
                                 : MIN(pool->others_pages,
                                       sub_floored(MIN(pool->from_pages, pool->to_pages),
                                                   MAX(pool->found_pages,
                                                       pool->granted_pages + pool->cover_pages +
                                                               pool->added_pages))));
}
