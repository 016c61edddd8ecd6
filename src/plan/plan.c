/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/plan.h"

#include "base/size.h"
#include "base/text.h"
#include "plan/planner.h"

#include <stdlib.h>
#include <string.h>

/* However small KeepFree= comes out on a small node, this much is left to it. */
static const uint64_t node_floor_bytes = 64 * MIB;

int plan_compare_instances(const void *a, const void *b) {
        const InstanceConfig *first = (*(const PlanInstance *const *) a)->demand->config;
        const InstanceConfig *second = (*(const PlanInstance *const *) b)->demand->config;

        if (first->priority != second->priority)
                return first->priority > second->priority ? -1 : 1;
        return strcmp(first->name, second->name);
}

/* ---- memory ---- */

static uint64_t keep_free_bytes(const HostConfig *host, const Node *node) {
        return MAX(amount_of(&host->keep_free, node->memory_bytes), node_floor_bytes);
}

uint64_t plan_node_room_bytes(const HostConfig *host, const Node *node) {
        uint64_t available = node->free_bytes;

        if (host->may_reclaim)
                available = add_saturated(available, node->reclaimable_bytes);
        return node->has_memory ? sub_floored(available, keep_free_bytes(host, node)) : 0;
}

static void measure_room(Planner *planner) {
        const Topology *topology = planner->input->topology;
        const HostConfig *host = planner->input->host;

        planner->room_bytes = ARENA_ARRAY(planner->arena, uint64_t, topology->n_nodes);
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *node = &topology->nodes[i];

                planner->room_bytes[i] = plan_node_room_bytes(host, node);
                if (node->has_memory)
                        planner->plan->keep_free_bytes += keep_free_bytes(host, node);
        }
}

/* ---- units that run ---- */

const LedgerHold *plan_find_hold(const Plan *plan, const LedgerHolds *holds,
                                 const InstanceConfig *config) {
        const LedgerHold *other = NULL;

        VEC_FOREACH(hold, holds) {
                if (hold->is_tentative && text_equals(hold->granted.name, config->name))
                        return hold;
                if (hold->is_tentative || !config->unit || !text_equals(hold->unit, config->unit))
                        continue;
                if (text_equals(hold->granted.name, config->name))
                        return hold;
                if (!plan_find(plan, hold->granted.name))
                        other = hold;
        }
        return other;
}

static void find_holds(Planner *planner) {
        const PlanInput *input = planner->input;
        Plan *plan = planner->plan;

        if (input->is_restarted)
                return;
        for (size_t i = 0; i < plan->n_instances; i++)
                plan->instances[i].hold = plan_find_hold(plan, &input->ledger->holds,
                                                         plan->instances[i].demand->config);
        VEC_FOREACH(hold, &input->ledger->holds) {
                bool is_taken_up = false;

                for (size_t i = 0; i < plan->n_instances; i++)
                        is_taken_up = is_taken_up || plan->instances[i].hold == hold;
                if (!is_taken_up)
                        *vec_push(planner->arena, &plan->left_holds) = hold;
        }
}

static bool is_assumed_running(const PlanInput *input, const char *unit) {
        if (!input->use || !unit_use_is_running(input->use, unit) ||
            ledger_hold(input->ledger, unit, NULL))
                return false;
        for (size_t i = 0; input->starting && i < input->starting->n; i++)
                if (text_equals(input->starting->items[i].unit, unit))
                        return false;
        return true;
}

bool plan_is_running(const PlanInput *input, const InstanceConfig *config, const LedgerHold *hold) {
        return hold ? !hold->is_tentative : is_assumed_running(input, config->unit);
}

static int compare_names(const void *a, const void *b) {
        return strcmp(((const LedgerHold *) a)->granted.name,
                      ((const LedgerHold *) b)->granted.name);
}

/* Units that run, though nobody let them start: hugeplan was not there yet, or has lost its ledger.
 * Pages in use are likely theirs, as many as their instances may have. And instances without a unit,
 * which may run or not. By name: whose pages they are must not depend on the order of the files. */
static LedgerHolds assume_holds(Arena *arena, const PlanInput *input) {
        LedgerHolds holds = {};

        for (size_t i = 0; i < input->demand->n_instances; i++) {
                const DemandInstance *demand = &input->demand->instances[i];
                const char *unit = demand->config->unit;
                const LedgerInstance *known = ledger_instance(input->ledger, demand->config->name);

                if (!unit && known)
                        *vec_push(arena, &holds) = (LedgerHold){
                                .run = "", .policy = demand->policy, .granted = *known};
                if (!unit || demand->n_options == 0 || !is_assumed_running(input, unit))
                        continue;
                *vec_push(arena, &holds) = (LedgerHold){
                        .unit = unit,
                        .run = "",
                        .is_assumed = true,
                        .granted = {.name = demand->config->name,
                                    .page_size_bytes = demand->options[0].page_size_bytes,
                                    .pages_wanted = demand->options[0].pages},
                };
        }
        if (holds.n > 0)
                qsort(holds.items, holds.n, sizeof(*holds.items), compare_names);
        return holds;
}

Promises *plan_promises(Arena *arena, const PlanInput *input) {
        const Topology *topology = input->topology;
        LedgerHolds assumed = assume_holds(arena, input), *holds = ARENA_NEW(arena, LedgerHolds);
        Promises *promises = ARENA_ARRAY(arena, Promises, topology->n_page_sizes);

        VEC_FOREACH(hold, &input->ledger->holds)
                if (!hold->is_tentative)
                        *vec_push(arena, holds) = *hold;
        VEC_FOREACH(hold, &assumed)
                *vec_push(arena, holds) = *hold;
        for (size_t k = 0; k < topology->n_page_sizes; k++)
                promises[k] = promises_make(arena, topology, k, holds, input->use, input->ledger);
        return promises;
}

Plan *plan_make(Arena *arena, const PlanInput *input) {
        Plan *plan = ARENA_NEW(arena, Plan);
        Planner planner = {.arena = arena, .input = input, .plan = plan};

        plan->demand = input->demand;
        plan->n_instances = input->demand->n_instances;
        plan->instances = ARENA_ARRAY(arena, PlanInstance, plan->n_instances);
        for (size_t i = 0; i < plan->n_instances; i++) {
                const DemandInstance *demand = &input->demand->instances[i];

                plan->instances[i] = (PlanInstance){.demand = demand, .reason = demand->reason};
                if (!demand->config->refusal && demand->config->isolate == TRI_YES)
                        plan->instances[i].no_hugetlb_limit = input->topology->no_hugetlb_limit;
        }
        find_holds(&planner);
        planner.promises = plan_promises(arena, input);
        measure_room(&planner);
        planner_add_pools(&planner);
        planner_serve(&planner);
        planner_set_targets(&planner);
        planner_cover(&planner);
        return plan;
}

const PlanInstance *plan_find(const Plan *plan, const char *instance) {
        for (size_t i = 0; i < plan->n_instances; i++)
                if (text_equals(plan->instances[i].demand->config->name, instance))
                        return &plan->instances[i];
        return NULL;
}

uint64_t planner_granted_on(const PlanInstance *instance, unsigned node) {
        for (size_t i = 0; i < instance->n_grants; i++)
                if (instance->grants[i].node == node)
                        return instance->grants[i].pages;
        return 0;
}

const PlanPool *plan_pool(const Plan *plan, unsigned node, uint64_t page_size_bytes) {
        for (size_t i = 0; i < plan->n_pools; i++)
                if (plan->pools[i].node == node &&
                    plan->pools[i].page_size_bytes == page_size_bytes)
                        return &plan->pools[i];
        return NULL;
}

const Reason *plan_reason(const PlanInstance *instance) {
        if (instance->reason.kind != REASON_NONE)
                return &instance->reason;
        return instance->no_hugetlb_limit.kind != REASON_NONE ? &instance->no_hugetlb_limit
                                                              : &instance->exposed;
}

bool plan_waits_for_restart(const PlanInstance *instance, const LedgerHold *hold) {
        if (!hold)
                return false;
        if (instance->page_size_bytes != hold->granted.page_size_bytes ||
            instance->pages_granted != ledger_granted_pages(&hold->granted))
                return true;
        VEC_FOREACH(grant, &hold->granted.grants)
                if (planner_granted_on(instance, grant->node) != grant->pages)
                        return true;
        return false;
}

bool planner_is_left_out(const PlanInstance *instance) {
        return instance->reason.kind == REASON_RELEASED ||
               instance->reason.kind == REASON_BOOT_GUARD;
}

bool plan_is_short(const Plan *plan) {
        for (size_t i = 0; i < plan->n_instances; i++) {
                const PlanInstance *instance = &plan->instances[i];

                if (instance->pages_granted < instance->pages_wanted &&
                    !planner_is_left_out(instance))
                        return true;
        }
        return false;
}

uint64_t plan_page_tables_bytes(const PlanInstance *instance) {
        return mul_saturated(instance->pages_wanted, instance->page_size_bytes) / 512;
}

size_t plan_count_changed(const Plan *plan) {
        size_t n = 0;

        for (size_t i = 0; i < plan->n_pools; i++)
                n += plan->pools[i].from_pages != plan->pools[i].to_pages ||
                     plan->pools[i].demoted_pages > 0;
        return n;
}

PlanSteps plan_steps(Arena *arena, const Plan *plan) {
        PlanSteps steps = {};

        for (size_t i = 0; i < plan->n_pools; i++) {
                const PlanPool *pool = &plan->pools[i];

                if (pool->demoted_pages > 0)
                        *vec_push(arena, &steps) = (PlanStep){
                                pool, pool->from_pages, pool->from_pages - pool->demoted_pages,
                                pool->demote_to_bytes};
        }
        for (int is_raised = 0; is_raised <= 1; is_raised++)
                for (size_t i = 0; i < plan->n_pools; i++) {
                        const PlanPool *pool = &plan->pools[i];
                        uint64_t left = pool->from_pages - pool->demoted_pages;

                        if (is_raised ? pool->to_pages > left : pool->to_pages < left)
                                *vec_push(arena, &steps) =
                                        (PlanStep){pool, left, pool->to_pages, 0};
                }
        return steps;
}

/* Of instances that are described no longer. */
static void forget_refusals(const Plan *plan, Ledger *ledger) {
        size_t n = 0;

        VEC_FOREACH(refusal, &ledger->refusals)
                if (plan_find(plan, refusal->instance))
                        ledger->refusals.items[n++] = *refusal;
        ledger->refusals.n = n;
}

void plan_record(Arena *arena, const Plan *plan, Ledger *ledger) {
        typeof(ledger->instances) recorded = {};

        for (size_t i = 0; i < plan->n_instances; i++) {
                const PlanInstance *instance = &plan->instances[i];
                const InstanceConfig *config = instance->demand->config;
                const LedgerInstance *before = ledger_instance(ledger, config->name);

                bool was_released = before && before->is_released;

                if (instance->pages_granted == 0 && !was_released)
                        continue;
                LedgerInstance *after = vec_push(arena, &recorded);

                *after = (LedgerInstance){
                        .name = arena_strdup(arena, config->name),
                        .page_size_bytes = instance->page_size_bytes,
                        .pages_wanted = instance->pages_wanted,
                        .placement = config->refusal && before ? before->placement
                                                               : config->placement,
                        .is_released = was_released,
                        .has_stood = before && before->has_stood &&
                                     before->page_size_bytes == instance->page_size_bytes &&
                                     before->pages_wanted == instance->pages_wanted,
                };
                for (size_t k = 0; k < instance->n_grants; k++)
                        *vec_push(arena, &after->grants) = instance->grants[k];
        }
        ledger->instances = recorded;
        forget_refusals(plan, ledger);
        for (size_t i = 0; i < plan->n_pools; i++) {
                LedgerPool *pool =
                        ledger_pool(ledger, plan->pools[i].node, plan->pools[i].page_size_bytes);

                if (pool)
                        pool->others_pages = plan->pools[i].others_used_pages;
        }
}
