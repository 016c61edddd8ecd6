/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "promise/reach.h"

#include "base/size.h"

/* Interleaving goes by the offset in a mapping, so each mapping of an odd size may take one page more
 * of the first nodes than of the last. A server has a handful of mappings. */
static const uint64_t interleave_slack_pages = 8;

uint64_t reach_sum_in(const Promises *promises, const uint64_t *pages, const IdSet *nodes) {
        uint64_t sum = 0;

        for (size_t i = 0; i < promises->topology->n_nodes; i++)
                if (!nodes || id_set_has(nodes, promises->topology->nodes[i].id))
                        sum = add_saturated(sum, pages[i]);
        return sum;
}

uint64_t reach_rest(const Reach *reach, const Promise *row) {
        return add_saturated(row->pages, add_saturated(row->owed_pages,
                                                       reach->is_start ? row->likely_pages : 0));
}

uint64_t reach_unknown(const Reach *reach) {
        return reach->is_start ? reach->promises->others_promised_pages
                               : reach->promises->unknown_pages;
}

/* A node without memory is nobody's turn. */
static bool is_in_turn(const Promises *promises, const IdSet *nodes, size_t i) {
        const Node *node = &promises->topology->nodes[i];

        return node->has_memory && id_set_has(nodes, node->id);
}

/* What PAGES more of somebody who interleaves over NODES and uses USED take of node I: in turn means
 * evenly. */
static uint64_t turn_share(const Promises *promises, const IdSet *nodes, uint64_t pages,
                           const uint64_t *used, size_t i) {
        uint64_t all = pages, n = 0;

        if (!is_in_turn(promises, nodes, i))
                return 0;
        for (size_t k = 0; k < promises->topology->n_nodes; k++) {
                if (used)
                        all = add_saturated(all, used[k]);
                n += is_in_turn(promises, nodes, k);
        }
        return MIN(pages, sub_floored(div_round_up(all, n), used ? used[i] : 0));
}

Reach reach_new(Arena *arena, const Promises *promises, const uint64_t *free_pages, bool is_start) {
        Reach reach = {
                .promises = promises,
                .free_pages = free_pages,
                .is_start = is_start,
                .worst_single = ARENA_ARRAY(arena, uint64_t, promises->topology->n_nodes),
        };

        for (size_t i = 0; i < promises->topology->n_nodes; i++) {
                reach.worst_single[i] = is_start ? 0 : promises->unknown_pages;
                VEC_FOREACH(row, &promises->list) {
                        const IdSet *nodes = &row->policy.nodes;
                        uint64_t most = reach_rest(
                                &reach,
                                row); /* if everybody keeps to his policy as long as he can */

                        if (row->policy.kind == MEMORY_POLICY_BIND &&
                            !id_set_has(nodes, promises->topology->nodes[i].id))
                                most = 0;
                        else if (row->policy.kind == MEMORY_POLICY_INTERLEAVE)
                                most = turn_share(promises, nodes, most, row->used, i);
                        reach.worst_single[i] = add_saturated(reach.worst_single[i], most);
                }
        }
        return reach;
}

bool reach_can_take_turns(const Reach *reach, const IdSet *nodes, uint64_t more) {
        for (size_t i = 0; i < reach->promises->topology->n_nodes; i++)
                if (is_in_turn(reach->promises, nodes, i) &&
                    reach->free_pages[i] < add_saturated(reach->worst_single[i], more))
                        return false;
        return true;
}

uint64_t reach_turns_in(const Reach *reach, const IdSet *turns, uint64_t pages,
                        const uint64_t *used, const IdSet *nodes) {
        uint64_t sum = 0, least = UINT64_MAX, most = 0;

        for (size_t i = 0; i < reach->promises->topology->n_nodes; i++)
                if (id_set_has(nodes, reach->promises->topology->nodes[i].id))
                        sum = add_saturated(sum,
                                            turn_share(reach->promises, turns, pages, used, i));
        /* Where a node had none left for a while, pages whose turn it was are on another one, and what is left is
         * less even than it looks. So much more, at most, may be left for a node: the difference between those
         * that have most and least in use. */
        for (size_t i = 0; used && i < reach->promises->topology->n_nodes; i++) {
                if (!is_in_turn(reach->promises, turns, i))
                        continue;
                least = MIN(least, used[i]);
                most = MAX(most, used[i]);
        }
        return MIN(pages, add_saturated(sum, interleave_slack_pages + sub_floored(most, least)));
}

uint64_t reach_most(const Reach *reach, const Promise *row, const IdSet *nodes) {
        uint64_t rest = reach_rest(reach, row);

        switch (row->policy.kind) {
        case MEMORY_POLICY_BIND:
                return id_set_meets(&row->policy.nodes, nodes) ? rest : 0;
        case MEMORY_POLICY_INTERLEAVE:
                return reach_can_take_turns(reach, &row->policy.nodes, 0)
                               ? reach_turns_in(reach, &row->policy.nodes, rest, row->used, nodes)
                               : rest;
        default:
                return rest;
        }
}

uint64_t reach_needed(const Reach *reach, const IdSet *nodes) {
        return add_saturated(reach_unknown(reach),
                             VEC_SUM(row, &reach->promises->list, reach_most(reach, row, nodes)));
}
