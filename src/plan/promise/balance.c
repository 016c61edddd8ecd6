/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/promise/balance.h"

#include "base/size.h"

/* The kernel interleaves by the offset in a mapping, so each mapping of an odd size may take one page more of the
 * first nodes than of the last. A server has a handful of mappings. */
static const uint64_t interleave_slack_pages = 8;

uint64_t reach_free(const Reach *reach, const IdSet *nodes) {
        const Topology *topology = reach->promises->topology;
        uint64_t pages = 0;

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (id_set_has(nodes, topology->nodes[i].id))
                        pages = add_saturated(pages, reach->free_pages[i]);
        return pages;
}

uint64_t reach_rest(const Reach *reach, const Promise *row) {
        return add_saturated(row->pages, reach->is_start
                                                 ? add_saturated(row->owed_pages, row->likely_pages)
                                                 : row->owed_most_pages);
}

uint64_t reach_unknown(const Reach *reach) {
        return reach->is_start ? reach->promises->others_promised_pages
                               : reach->promises->unknown_pages;
}

/* Returns whether interleaving over NODES reaches the node of index I: the kernel skips nodes without memory. */
static bool is_in_turn(const Promises *promises, const IdSet *nodes, size_t i) {
        const Node *node = &promises->topology->nodes[i];

        return node->has_memory && id_set_has(nodes, node->id);
}

/* Returns the turns of a unit that uses USED (by index; NULL: nothing) and interleaves PAGES more over NODES: the
 * total becomes even. */
static ReachTurns turns_of(const Promises *promises, const IdSet *nodes, uint64_t pages,
                           const uint64_t *used) {
        uint64_t all = pages, n = 0, least = UINT64_MAX, most = 0;

        for (size_t i = 0; i < promises->topology->n_nodes; i++) {
                uint64_t here = used ? used[i] : 0;

                all = add_saturated(all, here);
                if (!is_in_turn(promises, nodes, i))
                        continue;
                n++;
                least = MIN(least, here);
                most = MAX(most, here);
        }
        /* If a node had no free pages for a while, its pages were taken from another one, and the rest is less even
         * than it looks: a node may take up to the difference between the most and the least used node more. */
        return (ReachTurns){n > 0 ? div_round_up(all, n) : 0,
                            interleave_slack_pages + sub_floored(most, least), false};
}

static void keep_turns(Reach *reach) {
        VEC_FOREACH(row, &reach->promises->list)
                if (row->policy.kind == MEMORY_POLICY_INTERLEAVE)
                        reach->turns[row - reach->promises->list.items].is_kept =
                                reach_can_take_turns(reach, &row->policy.nodes, 0);
}

Reach reach_new(Arena *arena, const Promises *promises, const uint64_t *free_pages, bool is_start) {
        const Topology *topology = promises->topology;
        Reach reach = {
                .promises = promises,
                .free_pages = free_pages,
                .is_start = is_start,
                .worst_single = ARENA_ARRAY(arena, uint64_t, topology->n_nodes),
                .turns = ARENA_ARRAY(arena, ReachTurns, promises->list.n),
        };

        for (size_t i = 0; i < topology->n_nodes; i++)
                reach.worst_single[i] = is_start ? 0 : promises->unknown_pages;
        /* The worst case if every unit keeps to its policy as long as it can. */
        VEC_FOREACH(row, &promises->list) {
                ReachTurns *turns = &reach.turns[row - promises->list.items];
                const IdSet *nodes = &row->policy.nodes;
                uint64_t rest = reach_rest(&reach, row);

                if (row->policy.kind == MEMORY_POLICY_INTERLEAVE)
                        *turns = turns_of(promises, nodes, rest, row->used);
                for (size_t i = 0; rest > 0 && i < topology->n_nodes; i++) {
                        uint64_t most = rest;

                        if (row->policy.kind == MEMORY_POLICY_INTERLEAVE)
                                most = is_in_turn(promises, nodes, i)
                                               ? MIN(rest, sub_floored(turns->level, row->used[i]))
                                               : 0;
                        else if (row->policy.kind == MEMORY_POLICY_BIND &&
                                 !id_set_has(nodes, topology->nodes[i].id))
                                most = 0;
                        reach.worst_single[i] = add_saturated(reach.worst_single[i], most);
                }
        }
        keep_turns(&reach);
        return reach;
}

Reach reach_beside(Arena *arena, const Reach *reach, const uint64_t *more) {
        size_t n_nodes = reach->promises->topology->n_nodes, n = reach->promises->list.n;
        Reach beside = *reach;

        beside.worst_single = ARENA_ARRAY(arena, uint64_t, n_nodes);
        for (size_t i = 0; i < n_nodes; i++)
                beside.worst_single[i] = add_saturated(reach->worst_single[i], more[i]);
        beside.turns = arena_memdup(arena, reach->turns, n * sizeof(ReachTurns));
        keep_turns(&beside);
        return beside;
}

bool reach_can_take_turns(const Reach *reach, const IdSet *nodes, uint64_t more) {
        for (size_t i = 0; i < reach->promises->topology->n_nodes; i++)
                if (is_in_turn(reach->promises, nodes, i) &&
                    reach->free_pages[i] < add_saturated(reach->worst_single[i], more))
                        return false;
        return true;
}

static uint64_t turns_in(const Reach *reach, const IdSet *their_nodes, const ReachTurns *turns,
                         uint64_t pages, const uint64_t *used, const IdSet *nodes) {
        uint64_t sum = turns->slack;

        ID_SET_FOREACH(id, nodes) {
                size_t i = topology_node_index(reach->promises->topology, id);

                if (i < reach->promises->topology->n_nodes &&
                    is_in_turn(reach->promises, their_nodes, i))
                        sum = add_saturated(
                                sum, MIN(pages, sub_floored(turns->level, used ? used[i] : 0)));
        }
        return MIN(pages, sum);
}

uint64_t reach_turns_in(const Reach *reach, const IdSet *turns, uint64_t pages,
                        const IdSet *nodes) {
        const ReachTurns all = turns_of(reach->promises, turns, pages, NULL);

        return turns_in(reach, turns, &all, pages, NULL, nodes);
}

uint64_t reach_most(const Reach *reach, const Promise *row, const IdSet *nodes) {
        const ReachTurns *turns = &reach->turns[row - reach->promises->list.items];
        uint64_t rest = reach_rest(reach, row);

        switch (row->policy.kind) {
        case MEMORY_POLICY_BIND:
                return rest > 0 && id_set_meets(&row->policy.nodes, nodes) ? rest : 0;
        case MEMORY_POLICY_INTERLEAVE:
                return rest > 0 && turns->is_kept
                               ? turns_in(reach, &row->policy.nodes, turns, rest, row->used, nodes)
                               : rest;
        default:
                return rest;
        }
}

/* Returns the most that all may take of NODES, including promises without a known owner. */
static uint64_t reach_needed(const Reach *reach, const IdSet *nodes) {
        return add_saturated(reach_unknown(reach),
                             VEC_SUM(row, &reach->promises->list, reach_most(reach, row, nodes)));
}

NodeSets reach_sets(Arena *arena, const Reach *reach) {
        const Promises *promises = reach->promises;
        const IdSet all = topology_all_nodes(promises->topology);
        NodeSets sets = {};

        *vec_push(arena, &sets) =
                (NodeSet){all, reach_free(reach, &all),
                          add_saturated(reach_unknown(reach),
                                        VEC_SUM(row, &promises->list, reach_rest(reach, row)))};
        VEC_FOREACH(row, &promises->list) {
                const IdSet *nodes = &row->policy.nodes;

                if (row->policy.kind == MEMORY_POLICY_BIND && reach_rest(reach, row) > 0 &&
                    !VEC_ANY(set, &sets, id_set_equals(&set->nodes, nodes)))
                        *vec_push(arena, &sets) = (NodeSet){*nodes, reach_free(reach, nodes),
                                                            reach_needed(reach, nodes)};
        }
        return sets;
}

/* ---- the balance ---- */

struct Balance {
        const Topology *topology;
        uint64_t *node_free, *node_needed; /* by index */
        NodeSets sets;       /* all nodes, and each set that outstanding promises are bound to */
        uint64_t kept_pages; /* of all nodes: which the kernel does not free, needed or not */
};

/* A unit that may be bound to a single node needs what others may take there as well, including the odd pages of
 * interleaved mappings and what others take when their own nodes run out. */
static void fill_needed(const Reach *reach, Balance *balance, bool is_short) {
        const Topology *topology = reach->promises->topology;
        /* Promises without a known owner may be bound to any one node, and so may a unit of unknown policy. */
        bool may_be_bound = is_short || reach->promises->unknown_pages > 0;
        bool is_any_bound = false;
        IdSet turns = {};

        VEC_FOREACH(row, &reach->promises->list) {
                if (reach_rest(reach, row) == 0)
                        continue;
                is_any_bound = is_any_bound || row->policy.kind == MEMORY_POLICY_BIND;
                if (row->policy.kind == MEMORY_POLICY_UNKNOWN)
                        may_be_bound = true;
                /* A node must not run out for an interleaving unit, which would then take pages that other units are
                 * bound to. If it can run out already, it must not do so more often. */
                if (row->policy.kind == MEMORY_POLICY_INTERLEAVE)
                        id_set_add_all(&turns, &row->policy.nodes);
        }
        for (size_t i = 0; i < topology->n_nodes; i++) {
                IdSet node = {};

                id_set_add(&node, topology->nodes[i].id);
                if (may_be_bound)
                        balance->node_needed[i] = reach_needed(reach, &node);
                else if (is_any_bound && id_set_meets(&turns, &node))
                        balance->node_needed[i] = reach->worst_single[i];
        }
}

Balance *balance_new(Arena *arena, const Promises *promises, const uint64_t *free_pages,
                     bool is_covered_later) {
        const Reach reach = reach_new(arena, promises, free_pages, false);
        const PageSize *size = &promises->topology->page_sizes[promises->size];
        size_t n = promises->topology->n_nodes;
        Balance *balance = ARENA_NEW(arena, Balance);

        *balance = (Balance){
                .topology = promises->topology,
                .node_free = arena_memdup(arena, free_pages, n * sizeof(*free_pages)),
                .node_needed = ARENA_ARRAY(arena, uint64_t, n),
                .sets = reach_sets(arena, &reach),
                /* set_max_huge_pages() frees persistent pages down to the number that is reserved and in use, surplus
                 * pages included; it turns the rest into surplus pages, which are freed when their users exit. */
                .kept_pages = add_saturated(size->reserved_pages, size->surplus_pages),
        };
        fill_needed(&reach, balance,
                    !is_covered_later &&
                            VEC_ANY(set, &balance->sets, set->free_pages < set->needed_pages));
        return balance;
}

uint64_t balance_spare_pages(const Balance *balance, size_t node) {
        uint64_t spare = MIN(sub_floored(balance->node_free[node], balance->node_needed[node]),
                             sub_floored(balance->sets.items[0].free_pages, balance->kept_pages));

        VEC_FOREACH(set, &balance->sets)
                if (id_set_has(&set->nodes, balance->topology->nodes[node].id))
                        spare = MIN(spare, sub_floored(set->free_pages, set->needed_pages));
        return spare;
}

uint64_t balance_missing_pages(const Balance *balance, size_t node) {
        uint64_t missing = sub_floored(balance->node_needed[node], balance->node_free[node]);

        VEC_FOREACH(set, &balance->sets)
                if (id_set_has(&set->nodes, balance->topology->nodes[node].id))
                        missing = MAX(missing, sub_floored(set->needed_pages, set->free_pages));
        return missing;
}

static void change(uint64_t *pages, uint64_t fewer, uint64_t more) {
        *pages = add_saturated(sub_floored(*pages, fewer), more);
}

void balance_change(Balance *balance, size_t node, uint64_t fewer, uint64_t more) {
        change(&balance->node_free[node], fewer, more);
        VEC_FOREACH(set, &balance->sets)
                if (id_set_has(&set->nodes, balance->topology->nodes[node].id))
                        change(&set->free_pages, fewer, more);
}
