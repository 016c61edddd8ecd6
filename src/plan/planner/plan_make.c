/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The planner's steps, one after the other. */
#include "plan/planner/planner.h"

static void find_holds(Planner *planner) {
        const PlanInput *input = planner->input;
        const LedgerHolds *holds = &input->ledger->holds;
        Plan *plan = planner->plan;

        if (input->is_restarted)
                return;
        HoldIndex index = ledger_index_holds(planner->arena, holds);
        bool *is_taken_up = ARENA_ARRAY(planner->arena, bool, holds->n);

        ARRAY_FOREACH(instance, plan->instances, plan->n_instances) {
                instance->hold = plan_find_hold(plan, &index, instance->demand->config);
                if (instance->hold)
                        is_taken_up[instance->hold - holds->items] = true;
        }
        VEC_FOREACH(hold, holds)
                if (!is_taken_up[hold - holds->items])
                        *vec_push(planner->arena, &plan->left_holds) = hold;
}

/* Records the likely owners of pages from now on. */
static void note_likely(const Planner *planner, const Promises *promises) {
        uint64_t bytes = promises->topology->page_sizes[promises->size].bytes;
        uint64_t left = promises->left_pages, all = promises_all_loose_pages(promises);

        VEC_FOREACH(row, &promises->list) {
                PlanInstance *instance = (PlanInstance *) plan_find(planner->plan, row->loose);
                uint64_t kept = 0;

                if (!row->loose)
                        continue;
                if (instance && instance->page_size_bytes == bytes) {
                        kept = instance->pages_granted;
                        instance->likely_pages = MIN(row->used_pages + row->likely_pages, kept);
                }
                /* All likely pages may belong to the instance that has fewer from now on. */
                left += sub_floored(MIN(all, row->granted_pages), kept);
        }
        if (left > 0)
                *vec_push(planner->arena, &planner->plan->left) = (PageCount){bytes, left};
}

Plan *plan_make(Arena *arena, const PlanInput *input) {
        Plan *plan = ARENA_NEW(arena, Plan);
        Planner planner = {.arena = arena, .input = input, .plan = plan};
        const Topology *topology = input->topology;

        plan->demand = input->demand;
        plan->n_instances = input->demand->n_instances;
        plan->instances = ARENA_ARRAY(arena, PlanInstance, plan->n_instances);
        for (size_t i = 0; i < plan->n_instances; i++) {
                const DemandInstance *demand = &input->demand->instances[i];

                plan->instances[i] = (PlanInstance){.demand = demand, .reason = demand->reason};
                if (!demand->config->refusal && demand->config->isolate == TRI_YES)
                        plan->instances[i].no_hugetlb_limit = topology->no_hugetlb_limit;
        }
        find_holds(&planner);
        planner.promises = plan_promises(arena, input);
        planner.room_bytes = ARENA_ARRAY(arena, uint64_t, topology->n_nodes);
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *node = &topology->nodes[i];

                planner.room_bytes[i] = plan_node_room_bytes(input->host, node);
                if (node->has_memory)
                        plan->keep_free_bytes += plan_node_keep_free_bytes(input->host, node);
        }
        plan->base_page_bytes = topology->base_page_bytes;
        planner_add_pools(&planner);
        planner_share(&planner);
        planner_serve(&planner);
        planner_set_targets(&planner);
        planner_cover(&planner);
        for (size_t k = 0; k < topology->n_page_sizes; k++)
                note_likely(&planner, &planner.promises[k]);
        return plan;
}
