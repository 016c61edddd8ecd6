/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/promise/reach.h"

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

uint64_t reach_needed(const Reach *reach, const IdSet *nodes) {
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
