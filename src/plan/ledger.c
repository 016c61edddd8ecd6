/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/ledger.h"

#include "base/size.h"
#include "base/text.h"

#include <string.h>

/* ---- the ledger ---- */

Ledger *ledger_new(Arena *arena, const char *boot_id) {
        Ledger *ledger = ARENA_NEW(arena, Ledger);

        ledger->boot_id = arena_strdup(arena, boot_id);
        return ledger;
}

LedgerPool *ledger_pool(const Ledger *ledger, unsigned node, uint64_t page_size_bytes) {
        return VEC_SEEK(
                pool, &ledger->pools,
                topology_compare_pools(node, page_size_bytes, pool->node, pool->page_size_bytes));
}

LedgerInstance *ledger_instance(const Ledger *ledger, const char *name) {
        return VEC_SEEK(instance, &ledger->instances, strcmp(name, instance->name));
}

uint64_t ledger_granted_pages(const LedgerInstance *instance) {
        return VEC_SUM(grant, &instance->grants, grant->pages);
}

uint64_t ledger_pages_on(const LedgerInstance *instance, unsigned node) {
        return instance ? pages_on(&instance->grants, node) : 0;
}

/* ---- comparing ---- */

bool ledger_is_same_place(const LedgerInstance *a, const LedgerInstance *b) {
        return a->page_size_bytes == b->page_size_bytes && a->grants.n == b->grants.n &&
               !VEC_ANY(grant, &a->grants, ledger_pages_on(b, grant->node) != grant->pages);
}

bool ledger_is_same_grant(const LedgerInstance *a, const LedgerInstance *b) {
        return a->pages_wanted == b->pages_wanted && a->placement == b->placement &&
               ledger_is_same_place(a, b);
}

static bool is_same_pool(const LedgerPool *a, const LedgerPool *b) {
        return a->node == b->node && a->page_size_bytes == b->page_size_bytes &&
               a->found_pages == b->found_pages && a->added_pages == b->added_pages &&
               a->set_pages == b->set_pages && a->others_pages == b->others_pages;
}

static bool is_same_instance(const LedgerInstance *a, const LedgerInstance *b) {
        return text_equals(a->name, b->name) && a->is_released == b->is_released &&
               a->was_complete == b->was_complete && a->was_ready == b->was_ready &&
               a->is_unitless == b->is_unitless && ledger_is_same_grant(a, b);
}

/* The pages of an earlier run only become fewer, so no other member changes alone. */
static bool is_same_charge(const UnitCharge *a, const UnitCharge *b) {
        return a == b || (a && b && a->reserved_pages == b->reserved_pages && a->pages == b->pages);
}

static bool is_same_hold(const LedgerHold *a, const LedgerHold *b) {
        return text_equals(a->unit, b->unit) && text_equals(a->run, b->run) &&
               a->policy.kind == b->policy.kind &&
               id_set_equals(&a->policy.nodes, &b->policy.nodes) &&
               a->is_counted == b->is_counted && a->is_assumed == b->is_assumed &&
               a->is_tentative == b->is_tentative && is_same_charge(a->earlier, b->earlier) &&
               text_equals(a->granted.name, b->granted.name) &&
               ledger_is_same_grant(&a->granted, &b->granted);
}

static bool is_same_refusal(const LedgerRefusal *a, const LedgerRefusal *b) {
        return text_equals(a->instance, b->instance) && text_equals(a->run, b->run) &&
               text_equals(a->text, b->text);
}

static bool is_same_left(const PageCount *a, const PageCount *b) {
        return a->page_size_bytes == b->page_size_bytes && a->pages == b->pages;
}

#define IS_SAME(list, is_same)         \
        ((a)->list.n == (b)->list.n && \
         !VEC_ANY(one, &a->list, !is_same(one, &b->list.items[one - a->list.items])))

bool ledger_equals(const Ledger *a, const Ledger *b) {
        return text_equals(a->boot_id, b->boot_id) && a->guard == b->guard && a->restored.n == 0 &&
               b->restored.n == 0 && IS_SAME(pools, is_same_pool) &&
               IS_SAME(instances, is_same_instance) && IS_SAME(holds, is_same_hold) &&
               IS_SAME(left, is_same_left) && IS_SAME(refusals, is_same_refusal);
}

/* ---- external changes ---- */

static PageCount *find_restored(const Ledger *ledger, uint64_t page_size_bytes) {
        return VEC_FIND(restored, &ledger->restored, restored->page_size_bytes == page_size_bytes);
}

void ledger_restore(Arena *arena, Ledger *ledger, uint64_t page_size_bytes, uint64_t pages) {
        PageCount *restored = find_restored(ledger, page_size_bytes);

        if (restored)
                restored->pages += pages;
        else if (pages > 0)
                *vec_push(arena, &ledger->restored) = (PageCount){page_size_bytes, pages};
}

void ledger_lower_found(LedgerPool *known, uint64_t pages) {
        uint64_t gone = sub_floored(known->found_pages, pages);

        known->added_pages = sub_floored(known->added_pages, gone);
        known->found_pages -= gone;
}

/* Records the pool as it is. Of pages beyond the recorded ones, up to *MISSED were moved from other nodes. */
static void observe_pool(Arena *arena, Ledger *ledger, unsigned node, const Pool *pool,
                         uint64_t *missed) {
        LedgerPool *known = ledger_pool(ledger, node, pool->page_size_bytes);
        uint64_t persistent = pool_persistent_pages(pool);

        if (!known) {
                *vec_push(arena, &ledger->pools) = (LedgerPool){
                        .node = node,
                        .page_size_bytes = pool->page_size_bytes,
                        .found_pages = persistent,
                        .set_pages = persistent,
                        .others_pages = UINT64_MAX,
                };
        } else if (persistent > known->set_pages) {
                uint64_t more = persistent - known->set_pages;
                uint64_t ours = MIN(more, *missed);

                known->found_pages += more - ours;
                known->added_pages += more - ours;
                known->set_pages = persistent;
                *missed -= ours;
        } else if (persistent < known->found_pages) {
                ledger_lower_found(known, persistent);
                known->set_pages = persistent;
        }
}

/* Processes of earlier runs end and map nothing: they have no more than their unit has now. */
static void observe_earlier(Arena *arena, LedgerHold *hold, const HostUse *use) {
        const UnitUse *unit = hold->earlier ? unit_use_find(use, hold->unit) : NULL;
        const UnitCharge *now = unit_use_charge(unit, hold->granted.page_size_bytes);

        if (!now)
                return;
        const UnitCharge *left =
                unit_charge_less(arena, now, unit_charge_less(arena, now, hold->earlier));

        hold->is_counted = left->reserved_pages == 0;
        hold->earlier = hold->is_counted ? NULL : left;
}

/* Returns whether the hold's unit runs. */
static bool observe_unit(LedgerHold *hold, const HostUse *use) {
        const UnitUse *unit = unit_use_find(use, hold->unit);

        if (unit && unit->is_running && unit->charges.n == 0) {
                hold->is_counted = false;
                hold->earlier = NULL;
        }
        return unit && unit->is_running;
}

void ledger_observe_counting(Ledger *ledger, const HostUse *use) {
        VEC_FOREACH(hold, &ledger->holds)
                observe_unit(hold, use);
}

uint64_t ledger_observe(Arena *arena, Ledger *ledger, const Topology *topology,
                        const HostUse *use) {
        uint64_t moved = 0;

        for (size_t k = 0; k < topology->n_page_sizes; k++) {
                PageCount *restored = find_restored(ledger, topology->page_sizes[k].bytes);
                uint64_t missed = restored ? restored->pages : 0;

                /* The pages that known pools have lost since they were recorded. */
                ARRAY_FOREACH(node, topology->nodes, topology->n_nodes) {
                        const Pool *pool = &node->pools[k];
                        const LedgerPool *known =
                                ledger_pool(ledger, node->id, pool->page_size_bytes);

                        if (pool->exists && known)
                                missed = add_saturated(
                                        missed,
                                        sub_floored(known->set_pages, pool_persistent_pages(pool)));
                }
                moved += missed;
                ARRAY_FOREACH(node, topology->nodes, topology->n_nodes)
                        if (node->pools[k].exists)
                                observe_pool(arena, ledger, node->id, &node->pools[k], &missed);
                moved -= missed;
                /* Restored pages are there again, so they can appear on another node only once. */
                if (restored)
                        restored->pages = MIN(restored->pages, missed);
        }
        VEC_KEEP(hold, &ledger->holds, !use || hold->is_tentative || observe_unit(hold, use));
        if (use && !use->is_moving)
                VEC_FOREACH(hold, &ledger->holds)
                        observe_earlier(arena, hold, use);
        return moved;
}

LedgerInstance ledger_copy_instance(Arena *arena, const LedgerInstance *instance) {
        LedgerInstance copy = *instance;

        copy.name = arena_strdup(arena, instance->name);
        copy.grants = pages_by_node_copy(arena, &instance->grants);
        return copy;
}

Ledger *ledger_copy(Arena *arena, const Ledger *ledger) {
        Ledger *copy = ledger_new(arena, ledger->boot_id);

        copy->guard = ledger->guard;
        vec_push_all(arena, &copy->pools, &ledger->pools);
        vec_push_all(arena, &copy->restored, &ledger->restored);
        vec_push_all(arena, &copy->left, &ledger->left);
        vec_reserve(arena, &copy->instances, ledger->instances.n);
        vec_reserve(arena, &copy->holds, ledger->holds.n);
        VEC_FOREACH(instance, &ledger->instances)
                *vec_push(arena, &copy->instances) = ledger_copy_instance(arena, instance);
        VEC_FOREACH(hold, &ledger->holds) {
                LedgerHold *copied = vec_push(arena, &copy->holds);

                *copied = *hold;
                copied->unit = arena_strdup(arena, hold->unit);
                copied->run = arena_strdup(arena, hold->run);
                copied->earlier = unit_charge_less(arena, hold->earlier, NULL);
                copied->granted = ledger_copy_instance(arena, &hold->granted);
        }
        VEC_FOREACH(refusal, &ledger->refusals)
                ledger_note_refusal(arena, copy, refusal->instance, refusal->run, refusal->text);
        return copy;
}

LedgerHold *ledger_hold(const Ledger *ledger, const char *unit, const char *instance) {
        return VEC_FIND(hold, &ledger->holds,
                        unit && text_equals(hold->unit, unit) &&
                                (!instance || text_equals(hold->granted.name, instance)));
}

LedgerHold *ledger_counted_hold(const Ledger *ledger, const char *unit, const char *instance) {
        LedgerHold *hold = ledger_hold(ledger, unit, instance);

        return hold && hold->is_counted && !hold->is_tentative && !hold->is_assumed ? hold : NULL;
}

bool ledger_is_only_hold(const Ledger *ledger, const LedgerHold *hold) {
        return VEC_SUM(each, &ledger->holds, text_equals(each->unit, hold->unit)) == 1;
}

HoldIndex ledger_index_holds(Arena *arena, const LedgerHolds *holds) {
        return (HoldIndex){
                INDEX_OF(arena, hold, holds->items, holds->n,
                         hold->is_tentative ? NULL : hold->unit),
                INDEX_OF(arena, hold, holds->items, holds->n,
                         hold->is_tentative ? hold->granted.name : NULL),
        };
}

/* Adds PAGES in equal parts on NODES, which has at least one node. */
static void add_evenly(Arena *arena, PagesByNode *grants, const IdSet *nodes, uint64_t pages) {
        uint64_t left = id_set_count(nodes);

        ID_SET_FOREACH(node, nodes) {
                uint64_t share = div_round_up(pages, left--);

                if (share > 0)
                        pages_add_on(arena, grants, node, share);
                pages -= share;
        }
}

void ledger_start(Arena *arena, Ledger *ledger, const char *instance, const LedgerHold *hold) {
        const LedgerInstance *granted = ledger_instance(ledger, instance);
        LedgerHold *known = ledger_hold(ledger, hold->unit, instance);
        const MemoryPolicy *policy = &hold->policy;

        if (!granted)
                granted = &hold->granted;
        if (!known)
                known = vec_push(arena, &ledger->holds);
        *known = *hold;
        known->unit = arena_strdup(arena, hold->unit);
        known->run = arena_strdup(arena, hold->run);
        known->earlier = unit_charge_less(arena, hold->earlier, NULL);
        known->granted = ledger_copy_instance(arena, granted);
        /* A unit that starts under another policy than planned keeps its pages on the nodes of that policy. */
        if ((policy->kind != MEMORY_POLICY_BIND && policy->kind != MEMORY_POLICY_INTERLEAVE) ||
            id_set_is_empty(&policy->nodes))
                return;
        uint64_t outside = ledger_granted_pages(&known->granted) -
                           pages_within(&known->granted.grants, &policy->nodes);

        VEC_KEEP(grant, &known->granted.grants, id_set_has(&policy->nodes, grant->node));
        add_evenly(arena, &known->granted.grants, &policy->nodes, outside);
}

void ledger_settle(LedgerHold *hold, uint64_t pages, const PagesByNode *used) {
        uint64_t over = sub_floored(ledger_granted_pages(&hold->granted), pages);

        /* Lower all nodes in equal parts; what one node cannot give, the others give. */
        for (int pass = 0; pass < 2; pass++) {
                uint64_t left = pass == 0 ? hold->granted.grants.n : 1;

                VEC_FOREACH(grant, &hold->granted.grants) {
                        uint64_t spare = sub_floored(grant->pages, pages_on(used, grant->node));
                        uint64_t part = MIN(div_round_up(over, left), spare);

                        grant->pages -= part;
                        over -= part;
                        left -= left > 1;
                }
        }
        VEC_KEEP(grant, &hold->granted.grants, grant->pages > 0);
        hold->granted.pages_wanted = pages;
}

void ledger_end(Ledger *ledger, const char *unit, const char *run, const char *instance) {
        VEC_KEEP(hold, &ledger->holds,
                 !text_equals(hold->unit, unit) || (*run && text_equals(hold->run, run) &&
                                                    !text_equals(hold->granted.name, instance)));
}

void ledger_release(Arena *arena, Ledger *ledger, const char *instance) {
        LedgerInstance *known = ledger_instance(ledger, instance);

        if (!known) {
                known = vec_push(arena, &ledger->instances);
                known->name = arena_strdup(arena, instance);
        }
        /* A process that still runs may be using the released pages. */
        if (known->is_unitless && known->grants.n > 0)
                *vec_push(arena, &ledger->left) =
                        (PageCount){known->page_size_bytes, ledger_granted_pages(known)};
        known->is_released = true;
        known->grants.n = 0;
}

void ledger_want_again(Ledger *ledger, const char *instance) {
        LedgerInstance *known = ledger_instance(ledger, instance);

        if (known)
                known->is_released = false;
}

void ledger_reload(Ledger *ledger) {
        ledger->guard = LEDGER_GUARD_OPEN;
        VEC_FOREACH(instance, &ledger->instances)
                instance->is_released = false;
}

void ledger_forget_refusal(Ledger *ledger, const char *instance) {
        VEC_KEEP(refusal, &ledger->refusals, !text_equals(refusal->instance, instance));
}

void ledger_note_refusal(Arena *arena, Ledger *ledger, const char *instance, const char *run,
                         const char *text) {
        const LedgerRefusal refusal = {arena_strdup(arena, instance), arena_strdup(arena, run),
                                       arena_strdup(arena, text)};

        ledger_forget_refusal(ledger, instance);
        *vec_push(arena, &ledger->refusals) = refusal;
}
