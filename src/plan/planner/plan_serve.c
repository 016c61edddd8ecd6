/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the plan: serves the instances that hold their pages, then the others by priority. */
#include "plan/planner/planner.h"

#include <stdlib.h>

/* ---- serving ---- */

static void refuse(Planner *planner, PlanInstance *instance, const DemandOption *option) {
        Candidate candidate = candidate_new(planner, instance, option->page_size_bytes);

        instance->page_size_bytes = option->page_size_bytes;
        instance->pages_wanted = option->pages;
        instance->reason = planner_explain(planner, instance, option, &candidate);
}

static const DemandOption *find_option_before(const Planner *planner,
                                              const PlanInstance *instance) {
        return planner_find_option(planner_before(planner, instance), instance->demand);
}

/* Returns the option with which the instance's unit runs, so that it may be using its pages; NULL: none. */
static const DemandOption *held_option(const PlanInstance *instance) {
        return instance->hold ? planner_find_option(&instance->hold->granted, instance->demand)
                              : NULL;
}

static bool serve_option(Planner *planner, PlanInstance *instance, const DemandOption *option) {
        Candidate candidate = candidate_new(planner, instance, option->page_size_bytes);

        if (!candidate_place_whole(planner, instance, option, &candidate))
                return false;
        candidate_commit(planner, instance, option, &candidate);
        instance->reason = (Reason){};
        return true;
}

/* ---- parts that stay ---- */

static bool is_released(const Planner *planner, const PlanInstance *instance) {
        const LedgerInstance *before =
                ledger_instance(planner->input->ledger, instance->demand->config->name);

        return before && before->is_released;
}

/* Returns the option of which a part was reserved before (Shortage=degrade); NULL: none. A part that could be reserved
 * stays reserved: newcomers get it only if they are more important and no unit uses it yet. */
static const DemandOption *find_part_before(const Planner *planner, const PlanInstance *instance) {
        const DemandInstance *demand = instance->demand;
        const DemandOption *option = demand->config->shortage == SHORTAGE_DEGRADE
                                             ? find_option_before(planner, instance)
                                             : NULL;
        uint64_t pages;

        if (!option || demand->reason.kind != REASON_NONE || is_released(planner, instance))
                return NULL;
        if (option != &demand->options[0] && !held_option(instance))
                return NULL; /* the instance prefers another page size now */
        /* What was reserved since its unit started is for the next start. */
        pages = ledger_granted_pages(held_option(instance) == option
                                             ? &instance->hold->granted
                                             : planner_before(planner, instance));
        return pages > 0 && pages < option->pages ? option : NULL;
}

typedef enum Keep {
        KEEP_HELD,    /* what its unit keeps */
        KEEP_PART,    /* what is still available without demotion, and wanted there */
        KEEP_PRESENT, /* what is present and not taken */
} Keep;

/* Grants the instance what it had, on the same nodes and within HOW, less what it has been granted there already. */
static void keep(Planner *planner, PlanInstance *instance, const DemandOption *option, Keep how) {
        const LedgerInstance *before = planner_before(planner, instance);
        Candidate candidate = candidate_new(planner, instance, option->page_size_bytes);

        VEC_FOREACH(grant, &before->grants) {
                CandidatePool *here = candidate_find(&candidate, grant->node);
                uint64_t wanted = option->split.n > 0 ? pages_on(&option->split, grant->node)
                                                      : option->pages;

                if (!here)
                        continue;
                const PlanPool *pool = here->pool;
                uint64_t has = pages_on(&instance->grants, grant->node);
                uint64_t most = how == KEEP_PRESENT
                                        ? planner_untaken(planner, pool)
                                        : MIN(sub_floored(wanted, has),
                                              sub_floored(here->capacity,
                                                          planner_demotable(planner, pool)));

                if (how == KEEP_HELD)
                        most = MIN(most, planner_held_pages(planner, instance, pool));
                here->pages = MIN(sub_floored(grant->pages, has), most);
        }
        candidate_commit(planner, instance, option, &candidate);
}

/* ---- serving one ---- */

/* Grants all that OPTION wants besides the part that the instance keeps, which does not move; returns false if it does
 * not fit. */
static bool serve_rest(Planner *planner, PlanInstance *instance, const DemandOption *option) {
        Candidate candidate = candidate_new(planner, instance, option->page_size_bytes);
        uint64_t missing = option->pages - instance->pages_granted;

        if (candidate_capacity(&candidate) < missing)
                return false;
        candidate_place_part(instance, option, &candidate);
        if (ARRAY_SUM(each, candidate.pools, candidate.n, each->pages) < missing)
                return false;
        candidate_commit(planner, instance, option, &candidate);
        instance->reason = (Reason){};
        return true;
}

/* Serves the instance by the first option that fits, other than BUT. */
static bool serve_whole(Planner *planner, PlanInstance *instance, const DemandOption *but) {
        const DemandInstance *demand = instance->demand;

        return ARRAY_ANY(option, demand->options, demand->n_options,
                         option != but && serve_option(planner, instance, option));
}

/* A part grows by at least an eighth of itself: the memory that is free beside KeepFree= varies, and pages that are
 * given back one by one must not be reserved again at once. */
enum { PART_STEP = 8 };

/* Shortage=degrade: grants what no instance could use whole. */
static void serve_part(Planner *planner, PlanInstance *instance) {
        const DemandInstance *demand = instance->demand;

        if (instance->reason.kind == REASON_NONE || planner_is_left_out(instance) ||
            demand->n_options == 0 || demand->config->shortage != SHORTAGE_DEGRADE)
                return;
        const DemandOption *part = find_part_before(planner, instance);
        const DemandOption *option = part && instance->pages_granted > 0 ? part
                                                                         : &demand->options[0];
        Candidate candidate = candidate_new(planner, instance, option->page_size_bytes);

        candidate_place_part(instance, option, &candidate);
        uint64_t more = ARRAY_SUM(each, candidate.pools, candidate.n, each->pages);

        if (more < instance->pages_granted / PART_STEP &&
            instance->pages_granted + more < option->pages)
                return;
        candidate_commit(planner, instance, option, &candidate);
        /* Another instance has given up its part since, to be served whole elsewhere. */
        if (instance->pages_granted == option->pages)
                instance->reason = (Reason){};
}

/* Keeps what an instance has reserved while its file is broken, until the file is fixed. */
static void keep_reserved(Planner *planner, PlanInstance *instance) {
        const LedgerInstance *before = planner_before(planner, instance);

        if (!before || instance->demand->reason.kind != REASON_CONFIG)
                return;
        instance->page_size_bytes = before->page_size_bytes;
        instance->pages_wanted = before->pages_wanted;
        VEC_FOREACH(grant, &before->grants) {
                PlanPool *pool = planner_pool(planner, grant->node, before->page_size_bytes);
                uint64_t more = pool ? sub_floored(grant->pages,
                                                   planner_held_pages(planner, instance, pool))
                                     : 0;

                if (!pool || planner_capacity(planner, pool) < more)
                        continue;
                *vec_push(planner->arena, &instance->grants) = *grant;
                instance->pages_granted += grant->pages;
                planner_grant(planner, NULL, pool, more);
        }
}

/* Grants the instance nothing for now, but records what it wants. */
static void leave_out(PlanInstance *instance, const Reason *reason) {
        const DemandOption *option = &instance->demand->options[0];

        instance->page_size_bytes = option->page_size_bytes;
        instance->pages_wanted = option->pages;
        instance->reason = *reason;
}

static void serve_in_turn(Planner *planner, PlanInstance *instance) {
        static const Reason released = {
                REASON_RELEASED, "its pages were given back by 'hugeplanctl release'",
                "run 'hugeplanctl reload', or start its unit, to reserve them again"};
        const DemandInstance *demand = instance->demand;
        bool has_pages = instance->pages_granted > 0;

        if (demand->n_options == 0 ||
            (has_pages && instance->pages_granted == instance->pages_wanted))
                return;
        if (is_released(planner, instance))
                leave_out(instance, &released);
        else if (demand->reason.kind != REASON_NONE)
                leave_out(instance, &demand->reason);
        else if (has_pages) {
                const DemandOption *part = find_part_before(planner, instance);

                /* Serve the rest of the part; else, if no unit uses the part yet, serve the instance whole by another
                 * option; else keep the part. */
                if (serve_rest(planner, instance, part))
                        return;
                planner_give_up(planner, instance);
                if (!held_option(instance) && serve_whole(planner, instance, part))
                        return;
                refuse(planner, instance, part);
                keep(planner, instance, part, KEEP_PART);
        } else if (!serve_whole(planner, instance, NULL))
                refuse(planner, instance, &demand->options[0]);
}

/* Keeps what is left of an instance's pages if it had all of them once, and is refused now because others precede it or
 * it wants more: until it can be served. Pages that are given back may not be available again. */
static void keep_present(Planner *planner, PlanInstance *instance) {
        const LedgerInstance *before = planner_before(planner, instance);
        const DemandInstance *demand = instance->demand;

        if (!before || !before->was_complete || instance->pages_granted > 0 ||
            instance->reason.kind == REASON_NONE || planner_is_left_out(instance))
                return;
        const DemandOption *option = ARRAY_FIND(each, demand->options, demand->n_options,
                                                each->page_size_bytes == before->page_size_bytes);
        const DemandOption no_longer = {.page_size_bytes = before->page_size_bytes,
                                        .pages = before->pages_wanted};

        keep(planner, instance, option ? option : &no_longer, KEEP_PRESENT);
        instance->kept_grant = before;
}

/* Gives back parts that no unit keeps, those of the least important instances first, up to what the nodes still lack of
 * KeepFree= after all that is given back anyway. */
static void shed_parts(Planner *planner) {
        const Topology *topology = planner->input->topology;
        const Plan *plan = planner->plan;
        uint64_t *short_bytes = ARENA_ARRAY(planner->scratch, uint64_t, topology->n_nodes);

        for (size_t i = 0; i < topology->n_nodes; i++)
                short_bytes[i] =
                        plan_node_shortage_bytes(planner->input->host, &topology->nodes[i]);
        ARRAY_FOREACH(pool, plan->pools, plan->n_pools)
                short_bytes[pool->node_index] = sub_floored(
                        short_bytes[pool->node_index],
                        mul_saturated(planner_given_back(planner, pool), pool->page_size_bytes));
        for (size_t i = plan->n_instances; i > 0; i--) {
                PlanInstance *instance = plan->order[i - 1];
                bool is_part = instance->demand->config->shortage == SHORTAGE_DEGRADE &&
                               instance->pages_granted < instance->pages_wanted;

                ARRAY_FOREACH(grant, instance->grants.items, is_part ? instance->grants.n : 0) {
                        PlanPool *pool =
                                planner_pool(planner, grant->node, instance->page_size_bytes);
                        uint64_t *shortage = &short_bytes[pool->node_index];
                        uint64_t fewer =
                                MIN(sub_floored(grant->pages,
                                                planner_held_pages(planner, instance, pool)),
                                    div_round_up(*shortage, pool->page_size_bytes));

                        fewer = MIN(fewer, planner_yield(planner, pool));
                        planner_take_back(planner, instance, pool, fewer);
                        grant->pages -= fewer;
                        instance->pages_granted -= fewer;
                        *shortage =
                                sub_floored(*shortage, mul_saturated(fewer, pool->page_size_bytes));
                }
                VEC_KEEP(grant, &instance->grants, grant->pages > 0);
        }
}

static int compare_instances(const void *a, const void *b) {
        const InstanceConfig *first = (*(const PlanInstance *const *) a)->demand->config;
        const InstanceConfig *second = (*(const PlanInstance *const *) b)->demand->config;

        if (first->priority != second->priority)
                return first->priority > second->priority ? -1 : 1;
        return strcmp(first->name, second->name);
}

/* Grants all instances what they get. */
static void serve_all(Planner *planner) {
        Plan *plan = planner->plan;
        PlanInstance **order = ARENA_ARRAY(planner->arena, PlanInstance *, plan->n_instances);

        for (size_t i = 0; i < plan->n_instances; i++)
                order[i] = &plan->instances[i];
        qsort(order, plan->n_instances, sizeof(*order), compare_instances);
        plan->order = order;
        ARRAY_FOREACH(each, order, plan->n_instances)
                keep_reserved(planner, *each);
        /* An instance that holds its pages is served with pages of the same size; if these are no longer available, it is
         * served in turn. So is an instance that holds a part, for what its unit does not keep of that, and for the
         * rest. */
        ARRAY_FOREACH(each, order, plan->n_instances) {
                const DemandOption *part = find_part_before(planner, *each);

                if (!held_option(*each) || is_released(planner, *each))
                        continue;
                if (part)
                        keep(planner, *each, part, KEEP_HELD);
                else
                        serve_option(planner, *each, find_option_before(planner, *each));
        }
        for (size_t i = 0, end; i < plan->n_instances; i = end) {
                unsigned priority = order[i]->demand->config->priority;

                /* Parts are kept before instances that are no more important are served. */
                for (end = i;
                     end < plan->n_instances && order[end]->demand->config->priority == priority;
                     end++) {
                        const DemandOption *part = find_part_before(planner, order[end]);

                        if (part)
                                keep(planner, order[end], part, KEEP_PART);
                }
                for (size_t k = i; k < end; k++)
                        serve_in_turn(planner, order[k]);
        }
        ARRAY_FOREACH(each, order, plan->n_instances)
                serve_part(planner, *each);
        ARRAY_FOREACH(each, order, plan->n_instances)
                keep_present(planner, *each);
        shed_parts(planner);
}

/* ---- all steps, one after the other ---- */

/* Records the pages that instances without a unit may have and are granted no more. */
static void note_left(const Planner *planner, const Promises *promises) {
        uint64_t bytes = promises->topology->page_sizes[promises->size].bytes;
        uint64_t left = promises->left_pages, all = promises->all_unitless_pages;

        VEC_FOREACH(row, &promises->list) {
                const PlanInstance *instance = plan_find(planner->plan, row->unitless);
                uint64_t kept = instance && instance->page_size_bytes == bytes
                                        ? instance->pages_granted
                                        : 0;

                /* Nobody knows which instance has the pages: each may have all of them. */
                if (row->unitless)
                        left += sub_floored(MIN(all, row->granted_pages), kept);
        }
        if (left > 0)
                *vec_push(planner->arena, &planner->plan->left) = (PageCount){bytes, left};
}

static void find_room(Planner *planner) {
        const HostConfig *host = planner->input->host;
        const Topology *topology = planner->input->topology;
        uint64_t commit_room_bytes = plan_commit_room_bytes(topology), all_bytes = 0;

        planner->room_bytes = ARENA_ARRAY(planner->scratch, uint64_t, topology->n_nodes);
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *node = &topology->nodes[i];

                planner->room_bytes[i] = plan_node_room_bytes(host, node);
                all_bytes = add_saturated(all_bytes, planner->room_bytes[i]);
                if (node->has_memory)
                        planner->plan->keep_free_bytes += plan_node_keep_free_bytes(host, node);
        }
        /* Each node may take its share, so that the planner has one bound for each node only. */
        planner->is_commit_bound = commit_room_bytes < all_bytes;
        for (size_t i = 0; planner->is_commit_bound && i < topology->n_nodes; i++)
                planner->room_bytes[i] =
                        mul_div(planner->room_bytes[i], commit_room_bytes, all_bytes);
}

Plan *plan_make(Arena *arena, const PlanInput *input) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        Plan *plan = ARENA_NEW(arena, Plan);
        Planner planner = {.arena = arena, .scratch = scratch, .input = input, .plan = plan};
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
        const HoldIndex holds = ledger_index_holds(scratch, &input->ledger->holds);

        ARRAY_FOREACH(instance, plan->instances, input->is_restarted ? 0 : plan->n_instances)
                instance->hold = plan_find_hold(plan, &holds, instance->demand->config);
        planner.promises = plan_promises(scratch, input);
        find_room(&planner);
        plan->base_page_bytes = topology->base_page_bytes;
        planner_add_pools(&planner);
        planner_share(&planner);
        serve_all(&planner);
        planner_set_targets(&planner);
        planner_cover(&planner);
        for (size_t k = 0; k < topology->n_page_sizes; k++)
                note_left(&planner, &planner.promises[k]);
        return plan;
}
