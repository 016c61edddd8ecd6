/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/size.h"
#include "plan/planner/planner.h"

/* ---- pages of running units ---- */

/* Returns what the unit keeps in the pool and the instance is not granted yet: granting it costs nothing. */
static uint64_t held_and_not_granted(const Planner *planner, const PlanInstance *instance,
                                     const PlanPool *pool) {
        return sub_floored(planner_held_pages(planner, instance, pool),
                           pages_on(&instance->grants, pool->node));
}

const LedgerInstance *planner_before(const Planner *planner, const PlanInstance *instance) {
        const DemandInstance *demand = instance->demand;
        const LedgerInstance *before =
                ledger_instance(planner->input->ledger, demand->config->name);

        /* The instance was released, or its file was missing or changed, since its unit started: what the unit runs
         * with counts. */
        if (instance->hold &&
            (!before || before->grants.n == 0 || !planner_find_option(before, demand)))
                return &instance->hold->granted;
        return before;
}

/* ---- candidates ---- */

Candidate candidate_new(Planner *planner, const PlanInstance *instance, uint64_t page_size_bytes) {
        const IdSet *nodes = &instance->demand->nodes;
        Candidate candidate = {
                .pools = ARENA_ARRAY(planner->scratch, CandidatePool, id_set_count(nodes))};

        ID_SET_FOREACH(node, nodes) {
                PlanPool *pool = planner_pool(planner, node, page_size_bytes);

                if (!pool)
                        continue;
                const uint64_t *left = planner_auto_bytes(planner, instance, pool);
                uint64_t most = left ? *left / page_size_bytes : UINT64_MAX;

                candidate.pools[candidate.n++] = (CandidatePool){
                        .pool = pool,
                        .capacity = add_saturated(MIN(planner_capacity(planner, pool), most),
                                                  held_and_not_granted(planner, instance, pool))};
        }
        return candidate;
}

uint64_t candidate_capacity(const Candidate *candidate) {
        return ARRAY_SUM(each, candidate->pools, candidate->n, each->capacity);
}

/* Places PAGES, which fit, evenly: what a node cannot take goes to the others in equal parts, the odd pages to the
 * nodes with the lowest numbers. */
static void place_spread(Candidate *candidate, uint64_t pages) {
        while (pages > 0) {
                uint64_t n_open = ARRAY_SUM(each, candidate->pools, candidate->n,
                                            each->pages < each->capacity);
                uint64_t share = pages / n_open, odd = pages % n_open, given = 0;

                /* Nodes that have no more than SHARE left give all of it. */
                ARRAY_FOREACH(each, candidate->pools, candidate->n) {
                        uint64_t left = each->capacity - each->pages;

                        each->pages += left > share ? 0 : left;
                        given += left > share ? 0 : left;
                }
                pages -= given;
                ARRAY_FOREACH(each, candidate->pools, given == 0 ? candidate->n : 0) {
                        if (each->pages == each->capacity)
                                continue;
                        each->pages += share + (odd > 0);
                        pages -= share + (odd > 0);
                        odd -= odd > 0;
                }
        }
}

static void place(const PlanInstance *instance, Candidate *candidate, uint64_t pages) {
        if (instance->demand->config->placement != PLACEMENT_PACK) {
                place_spread(candidate, pages);
                return;
        }
        while (pages > 0) {
                CandidatePool *best = NULL, *largest = candidate->pools;

                /* The smallest node that takes all, else the largest node; ties go to the lowest number. */
                ARRAY_FOREACH(each, candidate->pools, candidate->n) {
                        uint64_t left = each->capacity - each->pages;

                        if (left > largest->capacity - largest->pages)
                                largest = each;
                        if (left >= pages && (!best || left < best->capacity - best->pages))
                                best = each;
                }
                CandidatePool *here = best ? best : largest;
                uint64_t given = MIN(pages, here->capacity - here->pages);

                here->pages += given;
                pages -= given;
        }
}

CandidatePool *candidate_find(const Candidate *candidate, unsigned node) {
        return ARRAY_SEEK(each, candidate->pools, candidate->n,
                          node < each->pool->node ? -1 : node > each->pool->node);
}

/* Places the instance as before, if the demand is the same: an unchanged instance never moves. */
static bool place_as_before(const Planner *planner, const PlanInstance *instance,
                            const DemandOption *option, Candidate *candidate) {
        const LedgerInstance *before = planner_before(planner, instance);

        if (!before || before->page_size_bytes != option->page_size_bytes ||
            before->pages_wanted != option->pages ||
            before->placement != instance->demand->config->placement ||
            ledger_granted_pages(before) != option->pages)
                return false;
        VEC_FOREACH(grant, &before->grants) {
                const CandidatePool *here = candidate_find(candidate, grant->node);

                if (!here || here->capacity < grant->pages)
                        return false;
        }
        VEC_FOREACH(grant, &before->grants)
                candidate_find(candidate, grant->node)->pages = grant->pages;
        return true;
}

bool candidate_place_whole(const Planner *planner, const PlanInstance *instance,
                           const DemandOption *option, Candidate *candidate) {
        /* NodeMemory= is placed as written. */
        VEC_FOREACH(part, &option->split) {
                CandidatePool *here = candidate_find(candidate, part->node);

                if (part->pages > (here ? here->capacity : 0))
                        return false;
                if (here)
                        here->pages = part->pages;
        }
        if (option->split.n > 0)
                return true;
        if (place_as_before(planner, instance, option, candidate))
                return true;
        if (candidate_capacity(candidate) < option->pages)
                return false;
        place(instance, candidate, option->pages);
        return true;
}

void candidate_place_part(const PlanInstance *instance, const DemandOption *option,
                          Candidate *candidate) {
        uint64_t pages = MIN(sub_floored(option->pages, instance->pages_granted),
                             candidate_capacity(candidate));

        /* NodeMemory=: as much of each part as fits, besides what the instance has. */
        VEC_FOREACH(part, &option->split) {
                CandidatePool *here = candidate_find(candidate, part->node);

                if (here)
                        here->pages = MIN(
                                sub_floored(part->pages, pages_on(&instance->grants, part->node)),
                                here->capacity);
        }
        if (option->split.n == 0)
                place(instance, candidate, pages);
}

void candidate_commit(Planner *planner, PlanInstance *instance, const DemandOption *option,
                      const Candidate *candidate) {
        PagesByNode grants = {};

        vec_reserve(planner->arena, &grants, candidate->n);
        ARRAY_FOREACH(here, candidate->pools, candidate->n) {
                PlanPool *pool = here->pool;
                uint64_t pages = pages_on(&instance->grants, pool->node) + here->pages;

                planner_grant(
                        planner, instance, pool,
                        sub_floored(here->pages, held_and_not_granted(planner, instance, pool)));
                instance->pages_granted += here->pages;
                if (pages > 0)
                        *vec_push(planner->arena, &grants) = (NodePages){pool->node, pages};
        }
        instance->page_size_bytes = option->page_size_bytes;
        instance->pages_wanted = option->pages;
        instance->grants = grants;
}

void planner_give_up(Planner *planner, PlanInstance *instance) {
        VEC_FOREACH(grant, &instance->grants) {
                PlanPool *pool = planner_pool(planner, grant->node, instance->page_size_bytes);

                planner_take_back(
                        planner, instance, pool,
                        sub_floored(grant->pages, planner_held_pages(planner, instance, pool)));
        }
        instance->grants.n = 0;
        instance->pages_granted = 0;
}
