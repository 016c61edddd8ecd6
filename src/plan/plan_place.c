/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/size.h"
#include "plan/planner.h"

/* ---- what a unit that runs keeps ---- */

/* What the unit keeps there is the instance's to be granted, and costs nothing. */
static uint64_t held_and_not_granted(const Planner *planner, const PlanInstance *instance,
                                     const PlanPool *pool) {
        return sub_floored(planner_held_pages(planner, instance, pool),
                           planner_granted_on(instance, pool->node));
}

const LedgerInstance *planner_before(const Planner *planner, const PlanInstance *instance) {
        const DemandInstance *demand = instance->demand;
        const LedgerInstance *before =
                ledger_instance(planner->input->ledger, demand->config->name);

        /* Its file was gone, and is there again. */
        if (instance->hold && (!before || !planner_find_option(before, demand)))
                return &instance->hold->granted;
        return before;
}

/* ---- candidates ---- */

Candidate candidate_new(Planner *planner, const PlanInstance *instance, uint64_t page_size_bytes) {
        const IdSet *nodes = &instance->demand->nodes;
        size_t n_nodes = id_set_count(nodes);
        Candidate candidate = {
                .pools = ARENA_ARRAY(planner->arena, PlanPool *, n_nodes),
                .capacity = ARENA_ARRAY(planner->arena, uint64_t, n_nodes),
                .pages = ARENA_ARRAY(planner->arena, uint64_t, n_nodes),
        };

        ID_SET_FOREACH(node, nodes) {
                PlanPool *pool = planner_pool(planner, node, page_size_bytes);

                if (!pool)
                        continue;
                const uint64_t *left = planner_auto_bytes(planner, instance, pool);
                uint64_t most = left ? *left / page_size_bytes : UINT64_MAX;

                candidate.pools[candidate.n] = pool;
                candidate.capacity[candidate.n] =
                        add_saturated(MIN(planner_capacity(planner, pool), most),
                                      held_and_not_granted(planner, instance, pool));
                candidate.n++;
        }
        return candidate;
}

uint64_t candidate_capacity(const Candidate *candidate) {
        return ARRAY_SUM(pages, candidate->capacity, candidate->n, *pages);
}

/* Evenly; what a node cannot take goes to the others in equal parts; the odd pages go to the nodes
 * with the lowest numbers. PAGES fit in all. */
static void place_spread(Candidate *candidate, uint64_t pages) {
        while (pages > 0) {
                uint64_t n_open = 0, given = 0;

                for (size_t i = 0; i < candidate->n; i++)
                        n_open += candidate->pages[i] < candidate->capacity[i];
                uint64_t share = pages / n_open, odd = pages % n_open;

                /* Those that have no more than that left give all of it. */
                for (size_t i = 0; i < candidate->n; i++) {
                        uint64_t left = candidate->capacity[i] - candidate->pages[i];

                        candidate->pages[i] += left > share ? 0 : left;
                        given += left > share ? 0 : left;
                }
                pages -= given;
                for (size_t i = 0; given == 0 && i < candidate->n; i++) {
                        if (candidate->pages[i] == candidate->capacity[i])
                                continue;
                        candidate->pages[i] += share + (odd > 0);
                        pages -= share + (odd > 0);
                        odd -= odd > 0;
                }
        }
}

/* The smallest node that takes all PAGES, else the largest node; ties go to the lowest number. */
static size_t pick_pack_node(const Candidate *candidate, uint64_t pages) {
        size_t best = candidate->n, largest = 0;

        for (size_t i = 0; i < candidate->n; i++) {
                uint64_t left = candidate->capacity[i] - candidate->pages[i];

                if (left > candidate->capacity[largest] - candidate->pages[largest])
                        largest = i;
                if (left < pages)
                        continue;
                if (best == candidate->n ||
                    left < candidate->capacity[best] - candidate->pages[best])
                        best = i;
        }
        return best < candidate->n ? best : largest;
}

static void place(const PlanInstance *instance, Candidate *candidate, uint64_t pages) {
        if (instance->demand->config->placement != PLACEMENT_PACK) {
                place_spread(candidate, pages);
                return;
        }
        while (pages > 0) {
                size_t i = pick_pack_node(candidate, pages);
                uint64_t given = MIN(pages, candidate->capacity[i] - candidate->pages[i]);

                candidate->pages[i] += given;
                pages -= given;
        }
}

size_t candidate_find(const Candidate *candidate, unsigned node) {
        PlanPool **pool = ARRAY_SEEK(each, candidate->pools, candidate->n,
                                     node < (*each)->node ? -1 : node > (*each)->node);

        return pool ? (size_t) (pool - candidate->pools) : candidate->n;
}

/* Where it was before, if the demand is the same: an unchanged instance never moves. */
static bool place_as_before(const Planner *planner, const PlanInstance *instance,
                            const DemandOption *option, Candidate *candidate) {
        const LedgerInstance *before = planner_before(planner, instance);

        if (!before || before->page_size_bytes != option->page_size_bytes ||
            before->pages_wanted != option->pages ||
            before->placement != instance->demand->config->placement ||
            ledger_granted_pages(before) != option->pages)
                return false;
        VEC_FOREACH(grant, &before->grants) {
                size_t i = candidate_find(candidate, grant->node);

                if (i == candidate->n || candidate->capacity[i] < grant->pages)
                        return false;
        }
        VEC_FOREACH(grant, &before->grants)
                candidate->pages[candidate_find(candidate, grant->node)] = grant->pages;
        return true;
}

bool candidate_place_whole(const Planner *planner, const PlanInstance *instance,
                           const DemandOption *option, Candidate *candidate) {
        /* NodeMemory=: as written. */
        ARRAY_FOREACH(part, option->split, option->n_split) {
                size_t i = candidate_find(candidate, part->node);

                if (part->pages > (i < candidate->n ? candidate->capacity[i] : 0))
                        return false;
                if (i < candidate->n)
                        candidate->pages[i] = part->pages;
        }
        if (option->split)
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

        /* NodeMemory=: as much of each part as fits, on top of what the instance has. */
        ARRAY_FOREACH(part, option->split, option->n_split) {
                size_t i = candidate_find(candidate, part->node);

                if (i < candidate->n)
                        candidate->pages[i] = MIN(
                                sub_floored(part->pages, planner_granted_on(instance, part->node)),
                                candidate->capacity[i]);
        }
        if (!option->split)
                place(instance, candidate, pages);
}

void candidate_commit(Planner *planner, PlanInstance *instance, const DemandOption *option,
                      const Candidate *candidate) {
        NodePages *grants = ARENA_ARRAY(planner->arena, NodePages, candidate->n);
        size_t n = 0;

        for (size_t i = 0; i < candidate->n; i++) {
                PlanPool *pool = candidate->pools[i];
                uint64_t pages = planner_granted_on(instance, pool->node) + candidate->pages[i];
                uint64_t *left = planner_auto_bytes(planner, instance, pool);
                uint64_t more = sub_floored(candidate->pages[i],
                                            held_and_not_granted(planner, instance, pool));

                planner_grant(planner, pool, more);
                if (left)
                        *left = sub_floored(*left, mul_saturated(more, pool->page_size_bytes));
                instance->pages_granted += candidate->pages[i];
                if (pages > 0)
                        grants[n++] = (NodePages){pool->node, pages};
        }
        planner->n_grants++;
        instance->page_size_bytes = option->page_size_bytes;
        instance->pages_wanted = option->pages;
        instance->grants = grants;
        instance->n_grants = n;
}

void planner_give_up(Planner *planner, PlanInstance *instance) {
        ARRAY_FOREACH(grant, instance->grants, instance->n_grants) {
                PlanPool *pool = planner_pool(planner, grant->node, instance->page_size_bytes);

                uint64_t *left = planner_auto_bytes(planner, instance, pool);
                uint64_t fewer =
                        sub_floored(grant->pages, planner_held_pages(planner, instance, pool));

                planner_take_back(planner, pool, fewer);
                if (left)
                        *left = add_saturated(*left, mul_saturated(fewer, pool->page_size_bytes));
        }
        planner->n_grants++;
        instance->n_grants = 0;
        instance->pages_granted = 0;
}
