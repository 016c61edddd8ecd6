/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/changes.h"

#include "base/json.h"
#include "base/text.h"

const char *const change_kind_names[CHANGE_KINDS] = {
        [CHANGE_NONE] = "unchanged",  [CHANGE_ADDED] = "added", [CHANGE_REMOVED] = "removed",
        [CHANGE_REFUSED] = "refused", [CHANGE_GROWN] = "grown", [CHANGE_SHRUNK] = "shrunk",
        [CHANGE_MOVED] = "moved",
};

static Change compare(const LedgerInstance *before, const LedgerInstance *after) {
        Change change = {
                .instance = after ? after->name : before->name,
                .page_size_bytes = after && after->grants.n > 0 ? after->page_size_bytes
                                   : before                     ? before->page_size_bytes
                                                                : 0,
                .pages_before = before ? ledger_granted_pages(before) : 0,
                .pages_after = after ? ledger_granted_pages(after) : 0,
        };

        if (change.pages_before == 0 || change.pages_after == 0)
                change.kind = change.pages_after > 0              ? CHANGE_ADDED
                              : change.pages_before > 0 || !after ? CHANGE_REMOVED
                                                                  : CHANGE_NONE;
        else if (before->page_size_bytes == after->page_size_bytes &&
                 change.pages_before != change.pages_after)
                change.kind = change.pages_after > change.pages_before ? CHANGE_GROWN
                                                                       : CHANGE_SHRUNK;
        else
                change.kind = ledger_is_same_place(before, after) ? CHANGE_NONE : CHANGE_MOVED;
        return change;
}

Changes changes_between(Arena *arena, const Ledger *before, const Ledger *after, const Plan *plan) {
        Changes changes = {};

        VEC_FOREACH(instance, &after->instances)
                *vec_push(arena, &changes) =
                        compare(ledger_instance(before, instance->name), instance);
        VEC_FOREACH(instance, &before->instances)
                if (!ledger_instance(after, instance->name))
                        *vec_push(arena, &changes) = compare(instance, NULL);
        VEC_FOREACH(change, &changes) {
                const LedgerInstance *now = ledger_instance(after, change->instance);
                const PlanInstance *planned = plan_find(plan, change->instance);

                /* The record of a refused instance has what it had while its unit runs, see plan_record(). */
                if (planned && planned->pages_granted == 0 && change->pages_before > 0) {
                        change->kind = CHANGE_REFUSED;
                        change->pages_after = 0;
                }
                /* A unit that runs with other pages than the instance has now keeps them. */
                VEC_FOREACH(hold, &after->holds)
                        if (!hold->is_tentative &&
                            text_equals(hold->granted.name, change->instance) &&
                            !(now && change->kind != CHANGE_REFUSED &&
                              ledger_is_same_place(now, &hold->granted))) {
                                change->kept_by = hold->unit;
                                change->kept_pages = ledger_granted_pages(&hold->granted);
                        }
        }
        return changes;
}

PoolChanges pool_changes_between(Arena *arena, const Topology *before, const Topology *after) {
        PoolChanges changes = {};

        for (size_t k = 0; k < after->n_page_sizes; k++)
                ARRAY_FOREACH(node, after->nodes, after->n_nodes) {
                        const Pool *now = &node->pools[k];
                        const Pool *then = topology_pool(before, node->id, now->page_size_bytes);
                        PoolChange change = {
                                .node = node->id,
                                .page_size_bytes = now->page_size_bytes,
                                .pages_before = then ? pool_persistent_pages(then) : 0,
                                .pages_after = pool_persistent_pages(now),
                        };

                        if (now->exists && change.pages_before != change.pages_after)
                                *vec_push(arena, &changes) = change;
                }
        return changes;
}

json_t *changes_to_json(const Changes *changes) {
        return VEC_TO_JSON(change, changes,
                           json_pack("{ss ss so so so ss? so}", "instance", change->instance,
                                     "change", change_kind_names[change->kind], "pageSizeBytes",
                                     count_to_json(change->page_size_bytes), "pagesBefore",
                                     count_to_json(change->pages_before), "pagesAfter",
                                     count_to_json(change->pages_after), "keptBy", change->kept_by,
                                     "pagesKept", count_to_json(change->kept_pages)));
}

json_t *pool_changes_to_json(const PoolChanges *changes) {
        return VEC_TO_JSON(change, changes,
                           json_pack("{si so so so}", "node", (int) change->node, "pageSizeBytes",
                                     count_to_json(change->page_size_bytes), "from",
                                     count_to_json(change->pages_before), "to",
                                     count_to_json(change->pages_after)));
}
