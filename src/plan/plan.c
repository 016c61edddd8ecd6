/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/plan.h"

#include "base/size.h"
#include "base/text.h"
#include "plan/planner/planner.h"

#include <string.h>

/* The least that is left to a node, however small KeepFree= is there. */
static const uint64_t node_floor_bytes = 64 * MIB;

/* ---- memory ---- */

uint64_t plan_node_keep_free_bytes(const HostConfig *host, const Node *node) {
        return MAX(amount_of(&host->keep_free, node->memory_bytes), node_floor_bytes);
}

static uint64_t available_bytes(const HostConfig *host, const Node *node) {
        return host->may_reclaim ? add_saturated(node->free_bytes, node->reclaimable_bytes)
                                 : node->free_bytes;
}

uint64_t plan_node_room_bytes(const HostConfig *host, const Node *node) {
        return node->has_memory ? sub_floored(available_bytes(host, node),
                                              plan_node_keep_free_bytes(host, node))
                                : 0;
}

uint64_t plan_commit_room_bytes(const Topology *topology) {
        const CommitLimit *commit = &topology->commit;

        return commit->percent == 0
                       ? UINT64_MAX
                       : mul_div(sub_floored(commit->bytes, add_saturated(commit->committed_bytes,
                                                                          node_floor_bytes)),
                                 100, commit->percent);
}

uint64_t plan_node_shortage_bytes(const HostConfig *host, const Node *node) {
        return node->has_memory ? sub_floored(plan_node_keep_free_bytes(host, node),
                                              available_bytes(host, node))
                                : 0;
}

/* ---- running units ---- */

static const LedgerHold *find_own_hold(const HoldIndex *holds, const InstanceConfig *config) {
        INDEX_FOREACH(entry, holds->by_unit, config->unit) {
                const LedgerHold *hold = entry->value;

                if (text_equals(hold->granted.name, config->name))
                        return hold;
        }
        return NULL;
}

const LedgerHold *plan_find_hold(const Plan *plan, const HoldIndex *holds,
                                 const InstanceConfig *config) {
        const LedgerHold *found = index_find(holds->tentative, config->name), *other = NULL;
        const LedgerHold *own = find_own_hold(holds, config);

        /* The first of the tentative hold and the instance's own. */
        if (own || found)
                return !own || (found && found < own) ? found : own;
        INDEX_FOREACH(entry, holds->by_unit, config->unit) {
                const LedgerHold *hold = entry->value;

                if (!plan_find(plan, hold->granted.name))
                        other = hold;
        }
        if (!other)
                return NULL;
        /* One instance inherits what its unit keeps for a removed one. Of the instances that the unit was not started with,
         * it is one that wants as much, which may be the same renamed, else the first by name. */
        const char *heir = NULL;
        bool is_alike = false;

        ARRAY_FOREACH(each, plan->instances, plan->n_instances) {
                const InstanceConfig *of = each->demand->config;
                bool wants_it = planner_find_option(&other->granted, each->demand);

                if (!text_equals(of->unit, config->unit) || find_own_hold(holds, of) ||
                    (is_alike && !wants_it))
                        continue;
                if (!heir || is_alike != wants_it || strcmp(of->name, heir) < 0)
                        heir = of->name;
                is_alike = wants_it;
        }
        return text_equals(heir, config->name) ? other : NULL;
}

/* Returns the units that were admitted, or are about to be, by name. */
static Index *index_started(Arena *arena, const PlanInput *input) {
        Index *started = index_new(arena);

        VEC_FOREACH(hold, &input->ledger->holds)
                index_add(started, hold->unit, hold);
        if (input->starting)
                VEC_FOREACH(starting, input->starting)
                        index_add(started, starting->unit, starting);
        return started;
}

static bool is_assumed_running(const PlanInput *input, const Index *started, const char *unit) {
        return unit_use_is_running(input->use, unit) && !index_find(started, unit);
}

bool *plan_find_running(Arena *arena, const PlanInput *input, const Plan *plan,
                        const LedgerHold *const *holds) {
        const Index *started = index_started(arena, input);
        bool *is_running = ARENA_ARRAY(arena, bool, plan->n_instances);

        for (size_t i = 0; i < plan->n_instances; i++) {
                const PlanInstance *instance = &plan->instances[i];
                const LedgerHold *hold = holds ? holds[i] : instance->hold;

                is_running[i] =
                        hold ? !hold->is_tentative
                             : is_assumed_running(input, started, instance->demand->config->unit);
        }
        return is_running;
}

static int compare_names(const void *a, const void *b) {
        return strcmp(((const LedgerHold *) a)->granted.name,
                      ((const LedgerHold *) b)->granted.name);
}

/* Adds holds for units that run without having been admitted, since hugeplan was not running or has lost its ledger:
 * beyond what the kernel has counted for them, pages in use are likely theirs, up to what their instances may have. They
 * are likely bound as their drop-in says, if they were started with it. And
 * for instances without a unit, which may run. By name: owners must not depend on the order of the files. */
static void assume_holds(Arena *arena, const PlanInput *input, LedgerHolds *holds) {
        const Index *started = index_started(arena, input);
        size_t n_known = holds->n;

        ARRAY_FOREACH(demand, input->demand->instances, input->demand->n_instances) {
                const char *unit = demand->config->unit;
                const LedgerInstance *known = ledger_instance(input->ledger, demand->config->name);

                if (!unit && known) {
                        const DemandOption *option =
                                ARRAY_FIND(each, demand->options, demand->n_options,
                                           each->page_size_bytes == known->page_size_bytes);
                        uint64_t wanted = option ? option->pages : 0;
                        LedgerHold *hold = vec_push(arena, holds);

                        *hold = (LedgerHold){.run = "",
                                             .policy = demand->policy,
                                             .granted = ledger_copy_instance(arena, known)};
                        /* No more than it wants now. */
                        if (demand->n_options > 0 && wanted < ledger_granted_pages(known))
                                ledger_settle(hold, wanted, &(PagesByNode){});
                }
                if (!unit || demand->n_options == 0 || !is_assumed_running(input, started, unit))
                        continue;
                *vec_push(arena, holds) = (LedgerHold){
                        .unit = unit,
                        .run = "",
                        .policy = {.nodes = demand->policy.kind == MEMORY_POLICY_BIND
                                                    ? demand->policy.nodes
                                                    : (IdSet){}},
                        .is_assumed = true,
                        .granted = {.name = demand->config->name,
                                    .page_size_bytes = demand->options[0].page_size_bytes,
                                    .pages_wanted = demand->options[0].pages},
                };
        }
        if (holds->n > n_known)
                qsort(holds->items + n_known, holds->n - n_known, sizeof(*holds->items),
                      compare_names);
}

Promises *plan_promises(Arena *arena, const PlanInput *input) {
        const Topology *topology = input->topology;
        LedgerHolds *holds = ARENA_NEW(arena, LedgerHolds);
        Promises *promises = ARENA_ARRAY(arena, Promises, topology->n_page_sizes);

        vec_reserve(arena, holds, input->ledger->holds.n + input->demand->n_instances);
        VEC_FOREACH(hold, &input->ledger->holds)
                if (!hold->is_tentative)
                        *vec_push(arena, holds) = *hold;
        assume_holds(arena, input, holds);
        for (size_t k = 0; k < topology->n_page_sizes; k++)
                promises[k] = promises_make(arena, topology, k, holds, input->use, input->ledger);
        return promises;
}

const PlanInstance *plan_find(const Plan *plan, const char *instance) {
        return !instance ? NULL
                         : ARRAY_SEEK(each, plan->instances, plan->n_instances,
                                      strcmp(instance, each->demand->config->name));
}

const DemandOption *planner_find_option(const LedgerInstance *before,
                                        const DemandInstance *demand) {
        return before ? ARRAY_FIND(option, demand->options, demand->n_options,
                                   option->page_size_bytes == before->page_size_bytes &&
                                           option->pages == before->pages_wanted)
                      : NULL;
}

const PlanPool *plan_pool(const Plan *plan, unsigned node, uint64_t page_size_bytes) {
        return ARRAY_SEEK(
                pool, plan->pools, plan->n_pools,
                topology_compare_pools(node, page_size_bytes, pool->node, pool->page_size_bytes));
}

const Reason *plan_reason(const PlanInstance *instance) {
        if (instance->reason.kind != REASON_NONE)
                return &instance->reason;
        return instance->no_hugetlb_limit.kind != REASON_NONE ? &instance->no_hugetlb_limit
                                                              : &instance->exposed;
}

bool plan_waits_for_restart(const PlanInstance *instance, const LedgerHold *hold) {
        return hold && (instance->page_size_bytes != hold->granted.page_size_bytes ||
                        instance->pages_granted != ledger_granted_pages(&hold->granted) ||
                        VEC_ANY(grant, &hold->granted.grants,
                                pages_on(&instance->grants, grant->node) != grant->pages));
}

bool planner_is_left_out(const PlanInstance *instance) {
        return instance->reason.kind == REASON_RELEASED ||
               instance->reason.kind == REASON_BOOT_GUARD;
}

bool plan_instance_is_short(const PlanInstance *instance) {
        return (instance->pages_granted < instance->pages_wanted || instance->kept_grant) &&
               !planner_is_left_out(instance);
}

bool plan_is_short(const Plan *plan) {
        return ARRAY_ANY(instance, plan->instances, plan->n_instances,
                         plan_instance_is_short(instance));
}

size_t plan_count_changed(const Plan *plan) {
        return ARRAY_SUM(pool, plan->pools, plan->n_pools,
                         pool->from_pages != pool->to_pages || pool->demoted_pages > 0);
}

PlanSteps plan_steps(Arena *arena, const Plan *plan) {
        PlanSteps steps = {};

        ARRAY_FOREACH(pool, plan->pools, plan->n_pools) {
                if (pool->demoted_pages > 0)
                        *vec_push(arena, &steps) = (PlanStep){
                                pool, pool->from_pages, pool->from_pages - pool->demoted_pages,
                                pool->demote_to_bytes};
        }
        for (int is_raised = 0; is_raised <= 1; is_raised++)
                ARRAY_FOREACH(pool, plan->pools, plan->n_pools) {
                        uint64_t left = pool->from_pages - pool->demoted_pages;

                        if (is_raised ? pool->to_pages > left : pool->to_pages < left)
                                *vec_push(arena, &steps) =
                                        (PlanStep){pool, left, pool->to_pages, 0};
                }
        return steps;
}

void plan_record(Arena *arena, const Plan *plan, Ledger *ledger) {
        typeof(ledger->instances) recorded = {};
        bool is_there = plan_count_changed(plan) == 0;

        vec_reserve(arena, &recorded, plan->n_instances);
        ARRAY_FOREACH(instance, plan->instances, plan->n_instances) {
                const InstanceConfig *config = instance->demand->config;
                const LedgerInstance *before = ledger_instance(ledger, config->name);
                /* If it is granted nothing while its unit runs, what it had is kept for the next start. */
                bool is_run = before && instance->pages_granted == 0 && instance->hold &&
                              !instance->hold->is_tentative;
                const LedgerInstance *kept = is_run ? before : instance->kept_grant;
                const PagesByNode *grants = is_run ? &before->grants : &instance->grants;
                uint64_t wanted = kept ? kept->pages_wanted : instance->pages_wanted;
                bool is_same = is_run ||
                               (before && before->page_size_bytes == instance->page_size_bytes &&
                                before->pages_wanted == wanted);
                bool is_complete = is_there && wanted > 0 && instance->pages_granted >= wanted;

                if (grants->n == 0 && !(before && before->is_released))
                        continue;
                *vec_push(arena, &recorded) = (LedgerInstance){
                        .name = arena_strdup(arena, config->name),
                        .page_size_bytes = kept ? kept->page_size_bytes : instance->page_size_bytes,
                        .pages_wanted = wanted,
                        .placement = config->refusal && before ? before->placement
                                                               : config->placement,
                        .is_released = before && before->is_released,
                        .is_unitless = !config->unit,
                        .was_complete = is_complete || (is_same && before->was_complete),
                        .was_ready = is_same && before->was_ready,
                        .grants = pages_by_node_copy(arena, grants),
                };
        }
        ledger->instances = recorded;
        ledger->left.n = 0;
        vec_push_all(arena, &ledger->left, &plan->left);
        /* Drop refusals of instances that are no longer described. */
        VEC_KEEP(refusal, &ledger->refusals, plan_find(plan, refusal->instance));
        ARRAY_FOREACH(each, plan->pools, plan->n_pools) {
                LedgerPool *pool = ledger_pool(ledger, each->node, each->page_size_bytes);

                if (pool)
                        pool->others_pages = each->uncounted_pages;
        }
}

void plan_note_ready(const Plan *plan, Ledger *ledger) {
        if (plan_count_changed(plan) > 0)
                return;
        VEC_FOREACH(recorded, &ledger->instances) {
                const PlanInstance *instance = plan_find(plan, recorded->name);

                if (instance && recorded->pages_wanted > 0 &&
                    instance->pages_granted >= recorded->pages_wanted &&
                    plan_reason(instance)->kind == REASON_NONE)
                        recorded->was_ready = true;
        }
}
