/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/plan.h"

#include "base/size.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* So many others are named where memory does not suffice for all. */
enum { CLAIMS_NAMED_MAX = 3 };

/* However small KeepFree= comes out on a small node, this much is left to it. */
static const uint64_t node_floor_bytes = 64 * MIB;

typedef struct Planner {
        Arena *arena;
        const PlanInput *input;
        Plan *plan;
        uint64_t *room_bytes; /* per node: memory that new pages may still take */
} Planner;

/* ---- capacity ---- */

static const PoolLimit *find_limit(const Planner *planner, const PlanPool *pool) {
        if (!planner->input->limits)
                return NULL;
        VEC_FOREACH(limit, planner->input->limits)
                if (limit->node == pool->node && limit->page_size_bytes == pool->page_size_bytes &&
                    !limit->is_unsplittable)
                        return limit;
        return NULL;
}

static bool is_unsplittable(const Planner *planner, const PlanPool *pool) {
        if (!planner->input->limits)
                return false;
        VEC_FOREACH(limit, planner->input->limits)
                if (limit->node == pool->node && limit->page_size_bytes == pool->page_size_bytes &&
                    limit->is_unsplittable)
                        return true;
        return false;
}

static size_t node_index(const Planner *planner, unsigned node) {
        const Topology *topology = planner->input->topology;
        size_t i = 0;

        while (topology->nodes[i].id != node)
                i++;
        return i;
}

/* Pages of the pool that are not ours to grant. */
static uint64_t pool_base_pages(const Planner *planner, const PlanPool *pool) {
        return planner->input->host->existing_pages == EXISTING_KEEP
                       ? MAX(pool->found_pages, pool->foreign_pages)
                       : pool->foreign_pages;
}

/* Base and granted pages: what the pool has to hold so far. */
static uint64_t pool_taken_pages(const Planner *planner, const PlanPool *pool) {
        return add_saturated(pool_base_pages(planner, pool), pool->granted_pages);
}

/* Persistent pages without any write to the pool's size: what is there, splitting included. */
static uint64_t pool_present_pages(const PlanPool *pool) {
        return pool->from_pages - pool->split_pages + pool->gained_pages;
}

static uint64_t pool_new_pages(const Planner *planner, const PlanPool *pool) {
        return sub_floored(pool_taken_pages(planner, pool), pool_present_pages(pool));
}

/* How many more pages memory can give: what the node has room for, within what trying has shown. */
static uint64_t pool_growth(const Planner *planner, const PlanPool *pool) {
        uint64_t growth = planner->room_bytes[node_index(planner, pool->node)] /
                          pool->page_size_bytes;
        const PoolLimit *limit = find_limit(planner, pool);

        if (!limit)
                return growth;
        return MIN(growth,
                   sub_floored(limit->persistent_pages,
                               MAX(pool_present_pages(pool), pool_taken_pages(planner, pool))));
}

/* Free pages of a larger pool that nobody has asked for, and that can be split into pages of SMALL:
 * only found ones that may be used. */
static uint64_t pool_spare_pages(const Planner *planner, const PlanPool *large,
                                 const PlanPool *small) {
        const Topology *topology = planner->input->topology;
        const Pool *now = topology_pool(topology, large->node, large->page_size_bytes);
        uint64_t unpromised =
                sub_floored(now->free_pages,
                            topology_promised_pages(topology, large->node, large->page_size_bytes));

        if (large->node != small->node || now->demote_to_bytes != small->page_size_bytes ||
            planner->input->host->existing_pages == EXISTING_KEEP ||
            is_unsplittable(planner, large))
                return 0;
        return MIN(sub_floored(unpromised, large->split_pages),
                   sub_floored(pool_present_pages(large), pool_taken_pages(planner, large)));
}

static uint64_t pool_splittable(const Planner *planner, const PlanPool *pool) {
        uint64_t pages = 0;

        for (size_t i = 0; i < planner->plan->n_pools; i++) {
                const PlanPool *large = &planner->plan->pools[i];

                if (large->page_size_bytes > pool->page_size_bytes)
                        pages += pool_spare_pages(planner, large, pool) *
                                 (large->page_size_bytes / pool->page_size_bytes);
        }
        return pages;
}

/* How many more pages the pool can grant: those it has, those its node has room for, and those that
 * splitting larger ones gives. */
static uint64_t pool_capacity(const Planner *planner, const PlanPool *pool) {
        uint64_t left = sub_floored(pool_present_pages(pool), pool_taken_pages(planner, pool));

        return add_saturated(add_saturated(left, pool_growth(planner, pool)),
                             pool_splittable(planner, pool));
}

static void split_larger(Planner *planner, PlanPool *pool, uint64_t pages) {
        for (size_t i = 0; i < planner->plan->n_pools && pages > 0; i++) {
                PlanPool *large = &planner->plan->pools[i];
                uint64_t ratio = large->page_size_bytes / pool->page_size_bytes;

                if (large->page_size_bytes <= pool->page_size_bytes)
                        continue;
                uint64_t n =
                        MIN(pool_spare_pages(planner, large, pool), div_round_up(pages, ratio));

                large->split_pages += n;
                large->split_into_bytes = pool->page_size_bytes;
                pool->gained_pages += n * ratio;
                pages = sub_floored(pages, n * ratio);
        }
}

/* Memory first; found pages are split only for what it cannot give. A split page may bring more than
 * was missing, and memory is then asked for less. */
static void pool_grant(Planner *planner, PlanPool *pool, uint64_t pages) {
        uint64_t *room = &planner->room_bytes[node_index(planner, pool->node)];
        uint64_t growth = pool_growth(planner, pool);
        uint64_t before = pool_new_pages(planner, pool);

        pool->granted_pages = add_saturated(pool->granted_pages, pages);
        split_larger(planner, pool, sub_floored(pool_new_pages(planner, pool) - before, growth));
        *room = sub_floored(*room, mul_saturated(sub_floored(pool_new_pages(planner, pool), before),
                                                 pool->page_size_bytes));
}

/* Takes back what pool_grant() gave. Pages that were split for it stay split. */
static void pool_take_back(Planner *planner, PlanPool *pool, uint64_t pages) {
        uint64_t before = pool_new_pages(planner, pool);

        pool->granted_pages -= pages;
        planner->room_bytes[node_index(planner, pool->node)] +=
                (before - pool_new_pages(planner, pool)) * pool->page_size_bytes;
}

static PlanPool *find_pool(const Plan *plan, unsigned node, uint64_t page_size_bytes) {
        for (size_t i = 0; i < plan->n_pools; i++)
                if (plan->pools[i].node == node &&
                    plan->pools[i].page_size_bytes == page_size_bytes)
                        return &plan->pools[i];
        return NULL;
}

/* ---- placing one instance ---- */

/* A candidate: what each node of the instance would give. */
typedef struct Candidate {
        PlanPool **pools; /* of the wanted size on the nodes that may serve, by node number */
        uint64_t *capacity;
        uint64_t *pages;
        size_t n;
} Candidate;

static Candidate candidate_new(Planner *planner, const DemandInstance *demand,
                               uint64_t page_size_bytes) {
        size_t n_nodes = id_set_count(&demand->nodes);
        Candidate candidate = {
                .pools = ARENA_ARRAY(planner->arena, PlanPool *, n_nodes + 1),
                .capacity = ARENA_ARRAY(planner->arena, uint64_t, n_nodes + 1),
                .pages = ARENA_ARRAY(planner->arena, uint64_t, n_nodes + 1),
        };

        ID_SET_FOREACH(node, &demand->nodes) {
                PlanPool *pool = find_pool(planner->plan, node, page_size_bytes);

                if (!pool)
                        continue;
                candidate.pools[candidate.n] = pool;
                candidate.capacity[candidate.n] = pool_capacity(planner, pool);
                candidate.n++;
        }
        return candidate;
}

static uint64_t candidate_capacity(const Candidate *candidate) {
        uint64_t sum = 0;

        for (size_t i = 0; i < candidate->n; i++)
                sum = add_saturated(sum, candidate->capacity[i]);
        return sum;
}

static size_t count_open(const Candidate *candidate) {
        size_t n = 0;

        for (size_t i = 0; i < candidate->n; i++)
                n += candidate->pages[i] < candidate->capacity[i];
        return n;
}

/* Takes all of the nodes that have no more than SHARE left; how many pages that is. */
static uint64_t fill_small_nodes(Candidate *candidate, uint64_t share) {
        uint64_t given = 0;

        for (size_t i = 0; i < candidate->n; i++) {
                uint64_t left = candidate->capacity[i] - candidate->pages[i];

                if (left > share)
                        continue;
                candidate->pages[i] += left;
                given += left;
        }
        return given;
}

/* Evenly; what a node cannot take goes to the others in equal parts; the odd pages go to the nodes
 * with the lowest numbers. PAGES fit in all. */
static void place_spread(Candidate *candidate, uint64_t pages) {
        while (pages > 0) {
                size_t n_open = count_open(candidate);
                uint64_t share = pages / n_open, odd = pages % n_open;
                uint64_t given = fill_small_nodes(candidate, share);

                pages -= given;
                if (given > 0)
                        continue;
                for (size_t i = 0; i < candidate->n; i++) {
                        if (candidate->pages[i] == candidate->capacity[i])
                                continue;
                        candidate->pages[i] += share + (odd > 0);
                        odd -= odd > 0;
                }
                return;
        }
}

/* The smallest node that takes all PAGES, else the largest node; ties go to the lowest number. */
static size_t pick_pack_node(const Candidate *candidate, uint64_t pages) {
        size_t best = 0, largest = 0;
        bool has_best = false;

        for (size_t i = 0; i < candidate->n; i++) {
                uint64_t left = candidate->capacity[i] - candidate->pages[i];

                if (left > candidate->capacity[largest] - candidate->pages[largest])
                        largest = i;
                if (left < pages)
                        continue;
                if (!has_best || left < candidate->capacity[best] - candidate->pages[best])
                        best = i;
                has_best = true;
        }
        return has_best ? best : largest;
}

static void place_pack(Candidate *candidate, uint64_t pages) {
        while (pages > 0) {
                size_t i = pick_pack_node(candidate, pages);
                uint64_t given = MIN(pages, candidate->capacity[i] - candidate->pages[i]);

                candidate->pages[i] += given;
                pages -= given;
        }
}

static size_t candidate_find(const Candidate *candidate, unsigned node) {
        size_t i = 0;

        while (i < candidate->n && candidate->pools[i]->node != node)
                i++;
        return i;
}

/* NodeMemory=: as written. */
static bool place_split(Candidate *candidate, const DemandOption *option) {
        for (size_t k = 0; k < option->n_split; k++) {
                size_t i = candidate_find(candidate, option->split[k].node);
                uint64_t capacity = i < candidate->n ? candidate->capacity[i] : 0;

                if (option->split[k].pages > capacity)
                        return false;
                if (i < candidate->n)
                        candidate->pages[i] = option->split[k].pages;
        }
        return true;
}

/* Where it was before, if the demand is the same: an unchanged instance never moves. */
static bool place_as_before(const Planner *planner, const DemandInstance *demand,
                            const DemandOption *option, Candidate *candidate) {
        const LedgerInstance *before =
                ledger_instance(planner->input->ledger, demand->config->name);

        if (!before || before->page_size_bytes != option->page_size_bytes ||
            before->pages_wanted != option->pages ||
            before->placement != demand->config->placement ||
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

static bool place_whole(const Planner *planner, const DemandInstance *demand,
                        const DemandOption *option, Candidate *candidate) {
        if (option->split)
                return place_split(candidate, option);
        if (place_as_before(planner, demand, option, candidate))
                return true;
        if (candidate_capacity(candidate) < option->pages)
                return false;
        if (demand->config->placement == PLACEMENT_PACK)
                place_pack(candidate, option->pages);
        else
                place_spread(candidate, option->pages);
        return true;
}

static uint64_t granted_on(const PlanInstance *instance, unsigned node) {
        for (size_t i = 0; i < instance->n_grants; i++)
                if (instance->grants[i].node == node)
                        return instance->grants[i].pages;
        return 0;
}

/* NodeMemory=: as much of each part as fits, on top of what the instance has. */
static void place_split_partly(const PlanInstance *instance, const DemandOption *option,
                               Candidate *candidate) {
        for (size_t k = 0; k < option->n_split; k++) {
                size_t i = candidate_find(candidate, option->split[k].node);

                if (i < candidate->n)
                        candidate->pages[i] =
                                MIN(sub_floored(option->split[k].pages,
                                                granted_on(instance, option->split[k].node)),
                                    candidate->capacity[i]);
        }
}

static void place_part(const PlanInstance *instance, const DemandOption *option,
                       Candidate *candidate) {
        uint64_t pages = MIN(sub_floored(option->pages, instance->pages_granted),
                             candidate_capacity(candidate));

        if (option->split)
                place_split_partly(instance, option, candidate);
        else if (instance->demand->config->placement == PLACEMENT_PACK)
                place_pack(candidate, pages);
        else
                place_spread(candidate, pages);
}

/* Grants the candidate's pages, on top of what the instance has of them. */
static void commit(Planner *planner, PlanInstance *instance, const DemandOption *option,
                   const Candidate *candidate) {
        NodePages *grants = ARENA_ARRAY(planner->arena, NodePages, candidate->n + 1);
        size_t n = 0;

        for (size_t i = 0; i < candidate->n; i++) {
                unsigned node = candidate->pools[i]->node;
                uint64_t pages = granted_on(instance, node) + candidate->pages[i];

                pool_grant(planner, candidate->pools[i], candidate->pages[i]);
                instance->pages_granted += candidate->pages[i];
                if (pages > 0)
                        grants[n++] = (NodePages){node, pages};
        }
        instance->page_size_bytes = option->page_size_bytes;
        instance->pages_wanted = option->pages;
        instance->grants = grants;
        instance->n_grants = n;
}

/* ---- why it does not fit ---- */

static char *pages_text(Arena *arena, uint64_t pages, uint64_t page_size_bytes) {
        return arena_printf(arena, "%s %s of %s (%s)", format_count(arena, pages),
                            pages == 1 ? "page" : "pages", format_page_size(arena, page_size_bytes),
                            format_size(arena, mul_saturated(pages, page_size_bytes)));
}

/* A limit that trying has shown, if one of the candidate's pools is held up by it. */
static const PoolLimit *find_binding_limit(const Planner *planner, const Candidate *candidate) {
        for (size_t i = 0; i < candidate->n; i++) {
                const PoolLimit *limit = find_limit(planner, candidate->pools[i]);

                if (limit && limit->reason.kind != REASON_NONE)
                        return limit;
        }
        return NULL;
}

static const char *split_remedy(Arena *arena, const DemandOption *option, unsigned node,
                                uint64_t pages) {
        if (pages == 0)
                return arena_printf(arena, "take node %u out of NodeMemory=, or add memory to it",
                                    node);
        return arena_printf(arena, "give node %u at most %s in NodeMemory=", node,
                            format_size(arena, mul_saturated(pages, option->page_size_bytes)));
}

/* Whether it is short only because others hold pages that were reserved; how many they do. */
static bool is_taken(const DemandOption *option, const Candidate *candidate, uint64_t *ret_taken) {
        uint64_t with_taken = candidate_capacity(candidate);

        *ret_taken = 0;
        for (size_t i = 0; i < candidate->n; i++)
                *ret_taken = add_saturated(*ret_taken, candidate->pools[i]->foreign_pages);
        with_taken = add_saturated(with_taken, *ret_taken);
        for (size_t k = 0; k < option->n_split; k++) {
                size_t i = candidate_find(candidate, option->split[k].node);

                if (i == candidate->n ||
                    option->split[k].pages > add_saturated(candidate->capacity[i],
                                                           candidate->pools[i]->foreign_pages))
                        return false;
        }
        return *ret_taken > 0 && with_taken >= option->pages;
}

static Reason taken_reason(const Planner *planner, const DemandInstance *demand,
                           const DemandOption *option, const Candidate *candidate, uint64_t taken) {
        Arena *arena = planner->arena;

        return (Reason){
                REASON_TAKEN,
                arena_printf(
                        arena,
                        "others hold %s of node%s %s, and only %s of the %s that it wants %s left",
                        pages_text(arena, taken, option->page_size_bytes),
                        id_set_count(&demand->nodes) == 1 ? "" : "s",
                        id_set_format(arena, &demand->nodes),
                        format_count(arena, candidate_capacity(candidate)),
                        format_count(arena, option->pages),
                        candidate_capacity(candidate) == 1 ? "is" : "are"),
                "see who holds huge pages in 'hugeplanctl status', and describe that program in /etc/hugeplan.d too"};
}

static uint64_t granted_bytes(const PlanInstance *instance, const IdSet *nodes) {
        uint64_t pages = 0;

        for (size_t i = 0; i < instance->n_grants; i++)
                if (id_set_has(nodes, instance->grants[i].node))
                        pages = add_saturated(pages, instance->grants[i].pages);
        return mul_saturated(pages, instance->page_size_bytes);
}

/* "KeepFree=10%, 8G for high (/etc/hugeplan.d/20-high.conf)": what goes before on these nodes. */
static char *earlier_claims(const Planner *planner, const IdSet *nodes) {
        Arena *arena = planner->arena;
        Text text = text_in(arena);
        size_t n = 0;

        text_printf(&text, "KeepFree=%s", amount_format(arena, &planner->input->host->keep_free));
        for (size_t i = 0; i < planner->plan->n_instances; i++) {
                const PlanInstance *other = &planner->plan->instances[i];
                uint64_t bytes = granted_bytes(other, nodes);

                if (bytes > 0 && n++ < CLAIMS_NAMED_MAX)
                        text_printf(&text, ", %s for %s (%s)", format_size(arena, bytes),
                                    other->demand->config->name, other->demand->config->file);
        }
        if (n > CLAIMS_NAMED_MAX)
                text_printf(&text, " and %zu more", n - CLAIMS_NAMED_MAX);
        return text.string;
}

/* Only what can help: no other nodes where all are allowed, no priority where nobody goes before. */
static char *shortage_remedy(const Planner *planner, const DemandInstance *demand,
                             uint64_t capacity) {
        IdSet memory_nodes = topology_memory_nodes(planner->input->topology);
        Text text = text_in(planner->arena);
        bool has_earlier = false;

        for (size_t i = 0; i < planner->plan->n_instances; i++)
                has_earlier = has_earlier ||
                              granted_bytes(&planner->plan->instances[i], &demand->nodes) > 0;
        if (capacity > 0)
                text_printf(&text, "ask for at most %s %s, ",
                            format_count(planner->arena, capacity),
                            capacity == 1 ? "page" : "pages");
        if (id_set_count(&demand->nodes) < id_set_count(&memory_nodes))
                text_add(&text, "allow more nodes, ");
        if (has_earlier)
                text_add(&text, "raise its Priority=, ");
        text_printf(&text, "%sadd memory", text.length > 0 ? "or " : "");
        return text.string;
}

static IdSet only_node(unsigned node) {
        IdSet nodes = {};

        id_set_add(&nodes, node);
        return nodes;
}

static Reason explain_shortage(const Planner *planner, const DemandInstance *demand,
                               const DemandOption *option, const Candidate *candidate) {
        Arena *arena = planner->arena;
        const PoolLimit *limit = find_binding_limit(planner, candidate);
        uint64_t capacity = candidate_capacity(candidate), taken;

        if (is_taken(option, candidate, &taken))
                return taken_reason(planner, demand, option, candidate, taken);
        if (limit)
                return limit->reason;
        for (size_t k = 0; k < option->n_split; k++) {
                size_t i = candidate_find(candidate, option->split[k].node);
                uint64_t here = i < candidate->n ? candidate->capacity[i] : 0;
                IdSet node = only_node(option->split[k].node);

                if (option->split[k].pages > here)
                        return (Reason){
                                REASON_NOT_ENOUGH_MEMORY,
                                arena_printf(arena,
                                             "%s on node %u do not fit: it can give %s beyond %s",
                                             pages_text(arena, option->split[k].pages,
                                                        option->page_size_bytes),
                                             option->split[k].node, format_count(arena, here),
                                             earlier_claims(planner, &node)),
                                split_remedy(arena, option, option->split[k].node, here)};
        }
        return (Reason){
                REASON_NOT_ENOUGH_MEMORY,
                arena_printf(arena, "%s do not fit: node%s %s can give %s (%s) beyond %s",
                             pages_text(arena, option->pages, option->page_size_bytes),
                             id_set_count(&demand->nodes) == 1 ? "" : "s",
                             id_set_format(arena, &demand->nodes), format_count(arena, capacity),
                             format_size(arena, mul_saturated(capacity, option->page_size_bytes)),
                             earlier_claims(planner, &demand->nodes)),
                shortage_remedy(planner, demand, capacity)};
}

/* ---- serving all ---- */

static void refuse(Planner *planner, PlanInstance *instance) {
        const DemandOption *option = &instance->demand->options[0];
        Candidate candidate = candidate_new(planner, instance->demand, option->page_size_bytes);

        instance->page_size_bytes = option->page_size_bytes;
        instance->pages_wanted = option->pages;
        instance->reason = explain_shortage(planner, instance->demand, option, &candidate);
}

/* The option that the instance was served by before; NULL if its demand is another one now. */
static const DemandOption *find_option_before(const Planner *planner,
                                              const DemandInstance *demand) {
        const LedgerInstance *before =
                ledger_instance(planner->input->ledger, demand->config->name);

        for (size_t i = 0; before && i < demand->n_options; i++)
                if (demand->options[i].page_size_bytes == before->page_size_bytes &&
                    demand->options[i].pages == before->pages_wanted)
                        return &demand->options[i];
        return NULL;
}

/* Its gate was passed for this very demand: it may be using its pages. */
static bool is_held(const Planner *planner, const PlanInstance *instance) {
        const LedgerInstance *before =
                ledger_instance(planner->input->ledger, instance->demand->config->name);

        return before && before->is_held && find_option_before(planner, instance->demand);
}

static bool serve_option(Planner *planner, PlanInstance *instance, const DemandOption *option) {
        Candidate candidate = candidate_new(planner, instance->demand, option->page_size_bytes);

        if (!place_whole(planner, instance->demand, option, &candidate))
                return false;
        commit(planner, instance, option, &candidate);
        instance->reason = (Reason){};
        return true;
}

/* ---- parts that stay ---- */

static bool is_released(const Planner *planner, const PlanInstance *instance) {
        const LedgerInstance *before =
                ledger_instance(planner->input->ledger, instance->demand->config->name);

        return before && before->is_released;
}

/* Shortage=degrade: the option of which a part was reserved before. What could be reserved stays
 * reserved: it is not for newcomers, unless they are more important and nobody uses it yet. */
static const DemandOption *find_part_before(const Planner *planner, const PlanInstance *instance) {
        const DemandInstance *demand = instance->demand;
        const DemandOption *option = find_option_before(planner, demand);
        uint64_t pages;

        if (!option || demand->config->shortage != SHORTAGE_DEGRADE ||
            demand->reason.kind != REASON_NONE || is_released(planner, instance))
                return NULL;
        if (option != &demand->options[0] && !is_held(planner, instance))
                return NULL; /* it would rather have pages of another size now */
        pages = ledger_granted_pages(ledger_instance(planner->input->ledger, demand->config->name));
        return pages > 0 && pages < option->pages ? option : NULL;
}

/* The most that an option wants of a node. */
static uint64_t wanted_on(const DemandOption *option, unsigned node) {
        for (size_t k = 0; k < option->n_split; k++)
                if (option->split[k].node == node)
                        return option->split[k].pages;
        return option->split ? 0 : option->pages;
}

/* Where it is, as far as it is wanted there and still to be had; nothing is split for it. */
static void keep_part(Planner *planner, PlanInstance *instance, const DemandOption *option) {
        const LedgerInstance *before =
                ledger_instance(planner->input->ledger, instance->demand->config->name);
        Candidate candidate = candidate_new(planner, instance->demand, option->page_size_bytes);

        VEC_FOREACH(grant, &before->grants) {
                size_t i = candidate_find(&candidate, grant->node);
                uint64_t pages = MIN(grant->pages, wanted_on(option, grant->node));

                if (i < candidate.n)
                        candidate.pages[i] = MIN(
                                pages, sub_floored(candidate.capacity[i],
                                                   pool_splittable(planner, candidate.pools[i])));
        }
        commit(planner, instance, option, &candidate);
}

static void give_up_part(Planner *planner, PlanInstance *instance) {
        for (size_t i = 0; i < instance->n_grants; i++)
                pool_take_back(planner,
                               find_pool(planner->plan, instance->grants[i].node,
                                         instance->page_size_bytes),
                               instance->grants[i].pages);
        instance->n_grants = 0;
        instance->pages_granted = 0;
}

/* ---- serving one ---- */

/* All that is missing of its option, on top of the part that it keeps: what is reserved does not
 * move. */
static bool serve_rest(Planner *planner, PlanInstance *instance, const DemandOption *option) {
        Candidate candidate = candidate_new(planner, instance->demand, option->page_size_bytes);
        uint64_t missing = option->pages - instance->pages_granted, placed = 0;

        if (candidate_capacity(&candidate) < missing)
                return false;
        place_part(instance, option, &candidate);
        for (size_t i = 0; i < candidate.n; i++)
                placed += candidate.pages[i];
        if (placed < missing)
                return false;
        commit(planner, instance, option, &candidate);
        instance->reason = (Reason){};
        return true;
}

/* Who holds pages of one size does not change to another; if they are no longer to be had, it takes
 * its turn. */
static void serve_held(Planner *planner, PlanInstance *instance) {
        const DemandOption *part = find_part_before(planner, instance);

        if (!is_held(planner, instance))
                return;
        if (part) {
                keep_part(planner, instance, part);
                serve_rest(planner, instance, part);
        } else {
                serve_option(planner, instance, find_option_before(planner, instance->demand));
        }
}

/* By the first option that fits. */
static bool serve_whole(Planner *planner, PlanInstance *instance, const DemandOption *but) {
        const DemandInstance *demand = instance->demand;

        for (size_t i = 0; i < demand->n_options; i++)
                if (&demand->options[i] != but &&
                    serve_option(planner, instance, &demand->options[i]))
                        return true;
        return false;
}

/* With the rest of it, else, if nobody uses it yet, whole by pages of another size; else it keeps
 * its part. */
static void serve_beyond_part(Planner *planner, PlanInstance *instance, const DemandOption *part) {
        if (serve_rest(planner, instance, part))
                return;
        give_up_part(planner, instance);
        if (!is_held(planner, instance) && serve_whole(planner, instance, part))
                return;
        refuse(planner, instance);
        keep_part(planner, instance, part);
}

/* It gets nothing by decision, not for want of memory. */
static bool is_left_out(const PlanInstance *instance) {
        return instance->reason.kind == REASON_RELEASED ||
               instance->reason.kind == REASON_BOOT_GUARD;
}

/* Shortage=degrade: what nobody could use whole. */
static void serve_part(Planner *planner, PlanInstance *instance) {
        const DemandInstance *demand = instance->demand;

        if (instance->reason.kind == REASON_NONE || is_left_out(instance) ||
            demand->n_options == 0 || demand->config->shortage != SHORTAGE_DEGRADE)
                return;
        const DemandOption *part = find_part_before(planner, instance);
        const DemandOption *option = part && instance->pages_granted > 0 ? part
                                                                         : &demand->options[0];
        Candidate candidate = candidate_new(planner, demand, option->page_size_bytes);

        place_part(instance, option, &candidate);
        commit(planner, instance, option, &candidate);
        /* Another one has left its part since, to be whole elsewhere. */
        if (instance->pages_granted == option->pages)
                instance->reason = (Reason){};
}

/* A file that was broken since: what the instance has stays reserved until the file is mended. */
static void keep_reserved(Planner *planner, PlanInstance *instance) {
        const LedgerInstance *before =
                ledger_instance(planner->input->ledger, instance->demand->config->name);

        if (!before || instance->demand->reason.kind != REASON_CONFIG)
                return;
        instance->page_size_bytes = before->page_size_bytes;
        instance->pages_wanted = before->pages_wanted;
        instance->grants = ARENA_ARRAY(planner->arena, NodePages, before->grants.n + 1);
        VEC_FOREACH(grant, &before->grants) {
                PlanPool *pool = find_pool(planner->plan, grant->node, before->page_size_bytes);

                if (!pool || pool_capacity(planner, pool) < grant->pages)
                        continue;
                instance->grants[instance->n_grants++] = (NodePages){grant->node, grant->pages};
                instance->pages_granted += grant->pages;
                pool_grant(planner, pool, grant->pages);
        }
}

int plan_compare_priority(const void *a, const void *b) {
        const InstanceConfig *first = *(const InstanceConfig *const *) a;
        const InstanceConfig *second = *(const InstanceConfig *const *) b;

        if (first->priority != second->priority)
                return first->priority > second->priority ? -1 : 1;
        return strcmp(first->name, second->name);
}

static PlanInstance *find_instance(const Plan *plan, const char *name) {
        for (size_t i = 0; i < plan->n_instances; i++)
                if (text_equals(plan->instances[i].demand->config->name, name))
                        return &plan->instances[i];
        return NULL;
}

/* It wants what it wants, but gets nothing for now. */
static void leave_out(PlanInstance *instance, const Reason *reason) {
        const DemandOption *option = &instance->demand->options[0];

        instance->page_size_bytes = option->page_size_bytes;
        instance->pages_wanted = option->pages;
        instance->reason = *reason;
}

static void serve_in_turn(Planner *planner, PlanInstance *instance) {
        static const Reason released = {
                REASON_RELEASED, "its pages were given back by 'hugeplanctl release'",
                "run 'hugeplanctl reload', or start its unit, to have them reserved again"};
        const DemandInstance *demand = instance->demand;
        bool has_pages = instance->pages_granted > 0;

        if (demand->n_options == 0 ||
            (has_pages && instance->pages_granted == instance->pages_wanted))
                return;
        if (is_released(planner, instance))
                leave_out(instance, &released);
        else if (demand->reason.kind != REASON_NONE)
                leave_out(instance, &demand->reason);
        else if (has_pages)
                serve_beyond_part(planner, instance, find_part_before(planner, instance));
        else if (!serve_whole(planner, instance, NULL))
                refuse(planner, instance);
}

/* Before the turn of others that are no more important. */
static void keep_unheld_part(Planner *planner, PlanInstance *instance) {
        const DemandOption *part = find_part_before(planner, instance);

        if (part && instance->pages_granted == 0)
                keep_part(planner, instance, part);
}

static void serve_all(Planner *planner) {
        Plan *plan = planner->plan;
        const InstanceConfig **order =
                ARENA_ARRAY(planner->arena, const InstanceConfig *, plan->n_instances + 1);

        for (size_t i = 0; i < plan->n_instances; i++)
                order[i] = plan->instances[i].demand->config;
        qsort(order, plan->n_instances, sizeof(*order), plan_compare_priority);
        for (size_t i = 0; i < plan->n_instances; i++)
                keep_reserved(planner, find_instance(plan, order[i]->name));
        for (size_t i = 0; i < plan->n_instances; i++)
                serve_held(planner, find_instance(plan, order[i]->name));
        for (size_t i = 0, end; i < plan->n_instances; i = end) {
                for (end = i; end < plan->n_instances && order[end]->priority == order[i]->priority;
                     end++)
                        keep_unheld_part(planner, find_instance(plan, order[end]->name));
                for (size_t k = i; k < end; k++)
                        serve_in_turn(planner, find_instance(plan, order[k]->name));
        }
        for (size_t i = 0; i < plan->n_instances; i++)
                serve_part(planner, find_instance(plan, order[i]->name));
}

/* ---- pools ---- */

/* The most important pools first: the largest pages are the hardest to get. */
static void add_pools(Planner *planner) {
        const Topology *topology = planner->input->topology;
        Plan *plan = planner->plan;

        plan->pools = ARENA_ARRAY(planner->arena, PlanPool,
                                  topology->n_nodes * topology->n_page_sizes + 1);
        for (size_t k = 0; k < topology->n_page_sizes; k++)
                for (size_t i = 0; i < topology->n_nodes; i++) {
                        const Pool *pool = &topology->nodes[i].pools[k];
                        const LedgerPool *known = ledger_pool(planner->input->ledger,
                                                              topology->nodes[i].id,
                                                              pool->page_size_bytes);

                        if (!pool->exists)
                                continue;
                        plan->pools[plan->n_pools++] = (PlanPool){
                                .node = topology->nodes[i].id,
                                .page_size_bytes = pool->page_size_bytes,
                                .found_pages = known ? known->found_pages
                                                     : pool_persistent_pages(pool),
                                .foreign_pages = known ? known->foreign_pages : 0,
                                .from_pages = pool_persistent_pages(pool),
                        };
                }
}

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

        planner->room_bytes = ARENA_ARRAY(planner->arena, uint64_t, topology->n_nodes + 1);
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *node = &topology->nodes[i];

                planner->room_bytes[i] = plan_node_room_bytes(host, node);
                if (node->has_memory)
                        planner->plan->keep_free_bytes += keep_free_bytes(host, node);
        }
}

/* What has to stand in the pool: what was found, the instances' pages on top of what others hold,
 * and, when that is less than now, nothing that is in use or promised. */
static void set_targets(Planner *planner) {
        const Topology *topology = planner->input->topology;

        for (size_t i = 0; i < planner->plan->n_pools; i++) {
                PlanPool *pool = &planner->plan->pools[i];
                uint64_t found = sub_floored(pool->found_pages, pool->split_pages) +
                                 pool->gained_pages;
                uint64_t present = pool_present_pages(pool);

                /* For others alone no pool is raised. */
                pool->to_pages = pool->granted_pages > 0
                                         ? MAX(found, pool_taken_pages(planner, pool))
                                         : found;
                if (pool->to_pages >= present)
                        continue;
                const Pool *now = topology_pool(topology, pool->node, pool->page_size_bytes);
                uint64_t busy =
                        pool_used_pages(now) +
                        topology_promised_pages(topology, pool->node, pool->page_size_bytes);

                pool->to_pages = MIN(present, MAX(pool->to_pages, busy));
        }
}

/* Its pages stand all the same: the next kernel may have what this one has not. */
static void keep_unfenced_from_starting(const Planner *planner) {
        for (size_t i = 0; i < planner->plan->n_instances; i++) {
                PlanInstance *instance = &planner->plan->instances[i];
                const InstanceConfig *config = instance->demand->config;

                if (!config->refusal && config->isolate == TRI_YES)
                        instance->no_fence = planner->input->topology->no_fence;
        }
}

Plan *plan_make(Arena *arena, const PlanInput *input) {
        Plan *plan = ARENA_NEW(arena, Plan);
        Planner planner = {.arena = arena, .input = input, .plan = plan};

        plan->n_instances = input->demand->n_instances;
        plan->instances = ARENA_ARRAY(arena, PlanInstance, plan->n_instances + 1);
        for (size_t i = 0; i < plan->n_instances; i++) {
                plan->instances[i].demand = &input->demand->instances[i];
                plan->instances[i].reason = input->demand->instances[i].reason;
        }
        add_pools(&planner);
        measure_room(&planner);
        serve_all(&planner);
        set_targets(&planner);
        keep_unfenced_from_starting(&planner);
        return plan;
}

const PlanInstance *plan_find(const Plan *plan, const char *instance) {
        return find_instance(plan, instance);
}

const PlanPool *plan_pool(const Plan *plan, unsigned node, uint64_t page_size_bytes) {
        return find_pool(plan, node, page_size_bytes);
}

const Reason *plan_reason(const PlanInstance *instance) {
        return instance->reason.kind != REASON_NONE ? &instance->reason : &instance->no_fence;
}

bool plan_is_short(const Plan *plan) {
        for (size_t i = 0; i < plan->n_instances; i++) {
                const PlanInstance *instance = &plan->instances[i];

                if (instance->pages_granted < instance->pages_wanted && !is_left_out(instance))
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
                     plan->pools[i].split_pages > 0;
        return n;
}

/* What is left of a pool when its own pages were split. */
static uint64_t unsplit_pages(const PlanPool *pool) {
        return pool->from_pages - pool->split_pages;
}

typedef enum StepKind { STEP_SPLIT, STEP_LOWER, STEP_RAISE } StepKind;

static bool has_step(const PlanPool *pool, StepKind kind) {
        switch (kind) {
        case STEP_SPLIT:
                return pool->split_pages > 0;
        case STEP_LOWER:
                return pool->to_pages < unsplit_pages(pool);
        case STEP_RAISE:
                return pool->to_pages > unsplit_pages(pool);
        }
        return false;
}

PlanSteps plan_steps(Arena *arena, const Plan *plan) {
        PlanSteps steps = {};

        for (StepKind kind = STEP_SPLIT; kind <= STEP_RAISE; kind++)
                for (size_t i = 0; i < plan->n_pools; i++) {
                        const PlanPool *pool = &plan->pools[i];

                        if (!has_step(pool, kind))
                                continue;
                        *vec_push(arena, &steps) = (PlanStep){
                                .pool = pool,
                                .from_pages = kind == STEP_SPLIT ? pool->from_pages
                                                                 : unsplit_pages(pool),
                                .to_pages = kind == STEP_SPLIT ? unsplit_pages(pool)
                                                               : pool->to_pages,
                                .split_into_bytes = kind == STEP_SPLIT ? pool->split_into_bytes : 0,
                        };
                }
        return steps;
}

static bool is_same_demand(const LedgerInstance *before, const PlanInstance *instance) {
        return before && before->page_size_bytes == instance->page_size_bytes &&
               before->pages_wanted == instance->pages_wanted;
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
                        .is_held = before && before->is_held && is_same_demand(before, instance),
                        .is_released = was_released,
                };
                for (size_t k = 0; k < instance->n_grants; k++)
                        *vec_push(arena, &after->grants) =
                                (LedgerGrant){instance->grants[k].node, instance->grants[k].pages};
        }
        ledger->instances = recorded;
}
