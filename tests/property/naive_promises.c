/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "property/naive_promises.h"

#include "base/size.h"
#include "base/text.h"

static const uint64_t odd_pages = 8; /* of the mappings of one who interleaves */

static size_t n_nodes(const NaivePromises *promises) {
        return promises->topology->n_nodes;
}

static const Node *node_of(const NaivePromises *promises, size_t i) {
        return &promises->topology->nodes[i];
}

static uint64_t sum_used(const NaivePromises *promises, const NaiveRow *row) {
        uint64_t pages = 0;

        for (size_t i = 0; i < n_nodes(promises); i++)
                pages += row->used[i];
        return pages;
}

/* ---- rows ---- */

static NaiveRow *row_of(NaivePromises *promises, const char *unit) {
        for (size_t r = 0; r < promises->n_rows; r++)
                if (text_equals(promises->rows[r].unit, unit))
                        return &promises->rows[r];
        return NULL;
}

/* Of those in use on node I that nobody has yet, how many others did not have before. */
static uint64_t new_on(const NaivePromises *promises, const Ledger *ledger, size_t i) {
        const LedgerPool *known = ledger_pool(ledger, node_of(promises, i)->id,
                                              promises->topology->page_sizes[promises->size].bytes);

        return known ? sub_floored(promises->others_used[i],
                                   add_saturated(known->others_pages, promises->left_used[i]))
                     : 0;
}

static bool may_take_anywhere(const NaivePromises *promises, const IdSet *memory_nodes) {
        for (size_t i = 0; i < n_nodes(promises); i++)
                if (node_of(promises, i)->has_memory &&
                    !id_set_has(memory_nodes, node_of(promises, i)->id))
                        return false;
        return true;
}

/* In a cpuset everybody is bound, to those of its nodes that his policy names, or to all of them. */
static void confine(const NaivePromises *promises, const UnitUse *unit, NaiveRow *row) {
        IdSet common;

        if (!unit || !unit->has_memory_nodes ||
            (row->policy.kind == MEMORY_POLICY_UNKNOWN && id_set_count(&unit->memory_nodes) > 1) ||
            may_take_anywhere(promises, &unit->memory_nodes))
                return;
        common = id_set_common(&row->policy.nodes, &unit->memory_nodes);
        if (row->policy.kind != MEMORY_POLICY_BIND || id_set_is_empty(&common))
                common = unit->memory_nodes;
        row->policy = (MemoryPolicy){MEMORY_POLICY_BIND, common};
}

/* Takes at most PAGES of those in use on node I that nobody has yet. */
static void claim_used(NaivePromises *promises, NaiveRow *row, size_t i, uint64_t pages) {
        pages = MIN(pages, promises->others_used[i]);
        row->used[i] += pages;
        promises->others_used[i] -= pages;
}

static void count(NaivePromises *promises, NaiveRow *row, const UnitCharge *charge) {
        uint64_t used;

        for (size_t u = 0; u < charge->n_used; u++)
                for (size_t i = 0; i < n_nodes(promises); i++)
                        if (node_of(promises, i)->id == charge->used[u].node) {
                                row->used[i] += charge->used[u].pages;
                                promises->others_used[i] = sub_floored(promises->others_used[i],
                                                                       charge->used[u].pages);
                        }
        used = sum_used(promises, row);
        row->promised = sub_floored(charge->reserved_pages, used);
        row->owed = sub_floored(row->granted, used + row->promised);
        promises->unknown = sub_floored(promises->unknown, row->promised);
        row->is_counted = true;
}

static void add_rows(NaivePromises *promises, const LedgerHolds *holds, const HostUse *use) {
        uint64_t bytes = promises->topology->page_sizes[promises->size].bytes;

        VEC_FOREACH(hold, holds) {
                NaiveRow *row = hold->unit ? row_of(promises, hold->unit) : NULL;

                if (!hold->unit)
                        continue;
                if (!row) {
                        row = &promises->rows[promises->n_rows++];
                        *row = (NaiveRow){.unit = hold->unit, .policy = hold->policy};
                }
                if (hold->granted.page_size_bytes != bytes)
                        continue;
                if (hold->is_assumed)
                        row->granted = add_saturated(row->granted, hold->granted.pages_wanted);
                VEC_FOREACH(grant, &hold->granted.grants)
                        row->granted = add_saturated(row->granted, grant->pages);
        }
        for (size_t r = 0; r < promises->n_rows; r++) {
                NaiveRow *row = &promises->rows[r];
                const UnitUse *unit = use ? unit_use_find(use, row->unit) : NULL;
                bool is_counted = false;

                VEC_FOREACH(hold, holds)
                        if (hold->unit && text_equals(hold->unit, row->unit)) {
                                is_counted = hold->is_counted;
                                break;
                        }
                confine(promises, unit, row);
                if (unit && is_counted && unit_use_charge(unit, bytes))
                        count(promises, row, unit_use_charge(unit, bytes));
        }
}

static bool is_of(const NaivePromises *promises, const LedgerHold *hold, const NaiveRow *row) {
        return hold->granted.page_size_bytes ==
                       promises->topology->page_sizes[promises->size].bytes &&
               (row->unit ? hold->unit && text_equals(hold->unit, row->unit)
                          : !hold->unit && text_equals(hold->granted.name, row->loose));
}

/* Where it was granted some, as many as came into use since. */
static void claim_granted(NaivePromises *promises, NaiveRow *row, const LedgerHold *hold,
                          const Ledger *ledger) {
        VEC_FOREACH(grant, &hold->granted.grants)
                for (size_t i = 0; i < n_nodes(promises); i++)
                        if (node_of(promises, i)->id == grant->node)
                                claim_used(promises, row, i,
                                           MIN(MIN(grant->pages, new_on(promises, ledger, i)),
                                               sub_floored(row->granted,
                                                           sum_used(promises, row) + row->likely)));
}

/* Nobody let it start, and nothing was planned for it yet. */
static bool was_there_first(const NaivePromises *promises, const NaiveRow *row,
                            const LedgerHolds *holds, const Ledger *ledger) {
        VEC_FOREACH(hold, holds)
                if (is_of(promises, hold, row) && hold->is_assumed &&
                    !ledger_instance(ledger, hold->granted.name))
                        return true;
        return false;
}

static uint64_t on_node(const LedgerInstance *instance, unsigned node) {
        VEC_FOREACH(grant, &instance->grants)
                if (grant->node == node)
                        return grant->pages;
        return 0;
}

/* New pages of all nodes, or only where INSTANCE was granted them, become ROW's, or are left; how many. */
static uint64_t move_new(NaivePromises *promises, NaiveRow *row, const LedgerInstance *instance,
                         const Ledger *ledger, uint64_t pages) {
        uint64_t moved = 0;

        for (size_t i = 0; i < n_nodes(promises); i++) {
                uint64_t here = MIN(pages - moved, new_on(promises, ledger, i));

                if (instance)
                        here = MIN(here, on_node(instance, node_of(promises, i)->id));
                if (row)
                        claim_used(promises, row, i, here);
                else
                        promises->left_used[i] += here;
                moved += here;
        }
        return moved;
}

static void leave(NaivePromises *promises, const LedgerInstance *instance, const Ledger *ledger,
                  uint64_t pages, uint64_t anywhere) {
        uint64_t moved = instance ? move_new(promises, NULL, instance, ledger, pages) : 0;

        if (anywhere > moved)
                moved += move_new(promises, NULL, NULL, ledger, anywhere - moved);
        moved = MIN(pages - moved, promises->shared);
        promises->shared -= moved;
        promises->left_promised += moved;
}

/* What is of instances without a unit since the last plan: of such as are gone or want less, and of the others. */
static void share_likely(NaivePromises *promises, size_t n_units, const LedgerHolds *holds,
                         const Ledger *ledger) {
        uint64_t bytes = promises->topology->page_sizes[promises->size].bytes;

        promises->shared = promises->unknown;
        uint64_t most = promises->shared;

        for (size_t i = 0; i < n_nodes(promises); i++)
                most += new_on(promises, ledger, i);
        VEC_FOREACH(left, &ledger->left)
                if (left->page_size_bytes == bytes)
                        leave(promises, NULL, ledger, left->pages, left->pages);
        VEC_FOREACH(instance, &ledger->instances) {
                const LedgerHold *known = NULL;
                uint64_t had = MAX(instance->likely_pages, ledger_granted_pages(instance)), now = 0;

                VEC_FOREACH(hold, holds)
                        if (!hold->unit && text_equals(hold->granted.name, instance->name))
                                known = hold;
                if (known)
                        now = ledger_granted_pages(&known->granted);
                if (!instance->is_loose || instance->page_size_bytes != bytes)
                        continue;
                had = MIN(had, most);
                if (!known)
                        leave(promises, instance, ledger, had, instance->likely_pages);
                else if (had > now)
                        leave(promises, instance, ledger, had - now, had - now);
        }
        for (size_t r = n_units; r < promises->n_rows; r++)
                VEC_FOREACH(hold, holds) {
                        NaiveRow *row = &promises->rows[r];
                        uint64_t likely = MIN(hold->granted.likely_pages, row->granted), used;

                        if (!is_of(promises, hold, row))
                                continue;
                        used = move_new(promises, row, &hold->granted, ledger, likely);
                        used += move_new(promises, row, NULL, ledger, likely - used);
                        row->likely = MIN(promises->shared, likely - used);
                        promises->shared -= row->likely;
                }
}

/* First where they were granted some, all of them; then wherever they may have strayed to; last those
 * without a unit. */
static void estimate_used(NaivePromises *promises, const LedgerHolds *holds, const Ledger *ledger) {
        size_t n_units = promises->n_rows;

        VEC_FOREACH(hold, holds) {
                const NaiveRow row = {.loose = hold->granted.name, .policy = hold->policy};

                if (hold->unit || !is_of(promises, hold, &row))
                        continue;
                promises->rows[promises->n_rows] = row;
                VEC_FOREACH(grant, &hold->granted.grants)
                        promises->rows[promises->n_rows].granted += grant->pages;
                promises->n_rows++;
        }
        share_likely(promises, n_units, holds, ledger);
        for (size_t r = 0; r < n_units; r++)
                VEC_FOREACH(hold, holds)
                        if (!promises->rows[r].is_counted && !hold->is_assumed &&
                            is_of(promises, hold, &promises->rows[r]))
                                claim_granted(promises, &promises->rows[r], hold, ledger);
        for (size_t r = 0; r < n_units; r++) {
                NaiveRow *row = &promises->rows[r];
                bool was_first = was_there_first(promises, row, holds, ledger);

                for (size_t i = 0; i < n_nodes(promises); i++)
                        if (!row->is_counted &&
                            (row->policy.kind != MEMORY_POLICY_BIND ||
                             id_set_has(&row->policy.nodes, node_of(promises, i)->id)))
                                claim_used(promises, row, i,
                                           MIN(was_first ? UINT64_MAX : new_on(promises, ledger, i),
                                               sub_floored(row->granted, sum_used(promises, row))));
        }
        for (size_t r = n_units; r < promises->n_rows; r++)
                VEC_FOREACH(hold, holds)
                        if (is_of(promises, hold, &promises->rows[r]))
                                claim_granted(promises, &promises->rows[r], hold, ledger);
}

static uint64_t lacks(const NaivePromises *promises, const NaiveRow *row) {
        return sub_floored(row->granted, sum_used(promises, row) + row->promised + row->likely);
}

NaivePromises naive_promises(const Topology *topology, size_t size, const LedgerHolds *holds,
                             const HostUse *use, const Ledger *ledger) {
        NaivePromises promises = {
                .topology = topology,
                .size = size,
                .unknown = topology->page_sizes[size].reserved_pages,
        };
        uint64_t at_most[NAIVE_ROWS_MAX] = {0};

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Pool *pool = &topology->nodes[i].pools[size];

                promises.others_used[i] = pool->total_pages - pool->free_pages;
        }
        add_rows(&promises, holds, use);
        for (size_t r = 0; r < promises.n_rows; r++)
                at_most[r] = lacks(&promises, &promises.rows[r]);
        estimate_used(&promises, holds, ledger);
        promises.others_promised = promises.left_promised;
        for (size_t r = 0; r < promises.n_rows; r++) {
                NaiveRow *row = &promises.rows[r];

                if (row->is_counted)
                        continue;
                uint64_t wants = sub_floored(row->granted, sum_used(&promises, row) + row->likely);
                uint64_t more = MIN(wants, promises.shared);

                row->likely += more;
                row->owed = row->unit ? wants - more : 0;
                promises.shared -= more;
        }
        promises.others_promised += promises.shared;
        /* Whoever of the uncounted has what, all that they lack may be one's. */
        uint64_t all = 0;

        for (size_t r = 0; r < promises.n_rows; r++)
                all += promises.rows[r].is_counted ? 0 : promises.rows[r].owed;
        for (size_t r = 0; r < promises.n_rows; r++)
                if (promises.rows[r].unit && !promises.rows[r].is_counted)
                        promises.rows[r].owed = MIN(at_most[r], all);
        return promises;
}

/* ---- what may be taken where ---- */

static uint64_t rest_of(const NaiveRow *row) {
        return add_saturated(row->promised, row->owed);
}

static bool is_in_turn(const NaivePromises *promises, const NaiveRow *row, size_t i) {
        return node_of(promises, i)->has_memory &&
               id_set_has(&row->policy.nodes, node_of(promises, i)->id);
}

/* An even share of all that it has and will have, less what it has there. */
static uint64_t turn_of(const NaivePromises *promises, const NaiveRow *row, size_t i) {
        uint64_t all = add_saturated(rest_of(row), sum_used(promises, row)), n = 0;

        for (size_t k = 0; k < n_nodes(promises); k++)
                n += is_in_turn(promises, row, k);
        if (!is_in_turn(promises, row, i))
                return 0;
        return MIN(rest_of(row), sub_floored(all / n + (all % n > 0), row->used[i]));
}

/* All that may be taken of one node while everybody keeps to his policy. */
static uint64_t worst_of(const NaivePromises *promises, size_t i) {
        uint64_t pages = promises->unknown;

        for (size_t r = 0; r < promises->n_rows; r++) {
                const NaiveRow *row = &promises->rows[r];

                if (row->policy.kind == MEMORY_POLICY_INTERLEAVE)
                        pages = add_saturated(pages, turn_of(promises, row, i));
                else if (row->policy.kind != MEMORY_POLICY_BIND ||
                         id_set_has(&row->policy.nodes, node_of(promises, i)->id))
                        pages = add_saturated(pages, rest_of(row));
        }
        return pages;
}

static bool keeps_turns(const NaivePromises *promises, const NaiveRow *row, const uint64_t *free) {
        for (size_t i = 0; i < n_nodes(promises); i++)
                if (is_in_turn(promises, row, i) && free[i] < worst_of(promises, i))
                        return false;
        return true;
}

static uint64_t unevenness_of(const NaivePromises *promises, const NaiveRow *row) {
        uint64_t least = UINT64_MAX, most = 0;

        for (size_t i = 0; i < n_nodes(promises); i++)
                if (is_in_turn(promises, row, i)) {
                        least = MIN(least, row->used[i]);
                        most = MAX(most, row->used[i]);
                }
        return most > least ? most - least : 0;
}

static uint64_t most_in(const NaivePromises *promises, const NaiveRow *row, const uint64_t *free,
                        const IdSet *nodes) {
        uint64_t pages = odd_pages + unevenness_of(promises, row);

        if (row->policy.kind == MEMORY_POLICY_BIND)
                return id_set_meets(&row->policy.nodes, nodes) ? rest_of(row) : 0;
        if (row->policy.kind != MEMORY_POLICY_INTERLEAVE || !keeps_turns(promises, row, free))
                return rest_of(row);
        for (size_t i = 0; i < n_nodes(promises); i++)
                if (id_set_has(nodes, node_of(promises, i)->id))
                        pages = add_saturated(pages, turn_of(promises, row, i));
        return MIN(pages, rest_of(row));
}

static uint64_t needed_on(const NaivePromises *promises, const uint64_t *free, size_t i) {
        uint64_t needed = promises->unknown;
        IdSet node = {};

        id_set_add(&node, node_of(promises, i)->id);
        for (size_t r = 0; r < promises->n_rows; r++)
                needed = add_saturated(needed, most_in(promises, &promises->rows[r], free, &node));
        return needed;
}

NaiveBalance naive_balance(const NaivePromises *promises, const uint64_t *free) {
        NaiveBalance balance = {.all_needed = promises->unknown};

        for (size_t r = 0; r < promises->n_rows; r++) {
                const NaiveRow *row = &promises->rows[r];
                uint64_t needed = promises->unknown;

                balance.all_needed = add_saturated(balance.all_needed, rest_of(row));
                if (row->policy.kind != MEMORY_POLICY_BIND || rest_of(row) == 0)
                        continue;
                for (size_t o = 0; o < promises->n_rows; o++)
                        needed = add_saturated(needed, most_in(promises, &promises->rows[o], free,
                                                               &row->policy.nodes));
                balance.sets[balance.n_sets] = row->policy.nodes;
                balance.set_needed[balance.n_sets++] = needed;
        }
        for (size_t i = 0; i < n_nodes(promises); i++) {
                bool is_turned_to = false, may_be_bound = promises->unknown > 0;

                for (size_t r = 0; r < promises->n_rows; r++) {
                        const NaiveRow *row = &promises->rows[r];

                        may_be_bound = may_be_bound || (row->policy.kind == MEMORY_POLICY_UNKNOWN &&
                                                        rest_of(row) > 0);
                        is_turned_to = is_turned_to ||
                                       (row->policy.kind == MEMORY_POLICY_INTERLEAVE &&
                                        rest_of(row) > 0 &&
                                        id_set_has(&row->policy.nodes, node_of(promises, i)->id));
                }
                if (may_be_bound)
                        balance.node_needed[i] = needed_on(promises, free, i);
                else if (is_turned_to && balance.n_sets > 0)
                        balance.node_needed[i] = worst_of(promises, i);
        }
        return balance;
}

uint64_t naive_spare(const NaivePromises *promises, const NaiveBalance *balance,
                     const uint64_t *free, size_t i) {
        const PageSize *size = &promises->topology->page_sizes[promises->size];
        uint64_t all = 0, spare = sub_floored(free[i], balance->node_needed[i]);

        for (size_t k = 0; k < n_nodes(promises); k++)
                all += free[k];
        /* The kernel gives back no page that it counts as reserved, and takes surplus pages for none. */
        all = sub_floored(all, MAX(balance->all_needed,
                                   add_saturated(size->reserved_pages, size->surplus_pages)));
        spare = MIN(spare, all);
        for (size_t s = 0; s < balance->n_sets; s++) {
                uint64_t here = 0;

                for (size_t k = 0; k < n_nodes(promises); k++)
                        if (id_set_has(&balance->sets[s], node_of(promises, k)->id))
                                here += free[k];
                if (id_set_has(&balance->sets[s], node_of(promises, i)->id))
                        spare = MIN(spare, sub_floored(here, balance->set_needed[s]));
        }
        return spare;
}
