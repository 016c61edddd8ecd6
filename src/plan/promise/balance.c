/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/promise/balance.h"

#include "base/size.h"
#include "plan/promise/reach.h"

struct Balance {
        const Topology *topology;
        uint64_t *node_free, *node_needed; /* by index */
        NodeSets sets;       /* all nodes, and each set that outstanding promises are bound to */
        uint64_t kept_pages; /* of all nodes: which the kernel does not free, needed or not */
};

/* A unit that may be bound to a single node needs what others may take there as well, including the odd pages of
 * interleaved mappings and what others take when their own nodes run out. */
static void fill_needed(const Reach *reach, Balance *balance) {
        const Topology *topology = reach->promises->topology;
        /* Promises without a known owner may be bound to any one node, and so may a unit of unknown policy. */
        bool may_be_bound = reach->promises->unknown_pages > 0;
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

Balance *balance_new(Arena *arena, const Promises *promises, const uint64_t *free_pages) {
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
        fill_needed(&reach, balance);
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
