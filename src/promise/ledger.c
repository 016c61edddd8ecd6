/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "promise/ledger.h"

#include "base/size.h"
#include "base/text.h"

Ledger *ledger_new(Arena *arena, const char *boot_id) {
        Ledger *ledger = ARENA_NEW(arena, Ledger);

        ledger->boot_id = arena_strdup(arena, boot_id);
        return ledger;
}

LedgerPool *ledger_pool(const Ledger *ledger, unsigned node, uint64_t page_size_bytes) {
        VEC_FOREACH(pool, &ledger->pools)
                if (pool->node == node && pool->page_size_bytes == page_size_bytes)
                        return pool;
        return NULL;
}

LedgerInstance *ledger_instance(const Ledger *ledger, const char *name) {
        VEC_FOREACH(instance, &ledger->instances)
                if (text_equals(instance->name, name))
                        return instance;
        return NULL;
}

uint64_t ledger_granted_pages(const LedgerInstance *instance) {
        uint64_t pages = 0;

        VEC_FOREACH(grant, &instance->grants)
                pages = add_saturated(pages, grant->pages);
        return pages;
}

uint64_t ledger_pages_on(const LedgerInstance *instance, unsigned node) {
        if (instance)
                VEC_FOREACH(grant, &instance->grants)
                        if (grant->node == node)
                                return grant->pages;
        return 0;
}

/* What the pools of a size that are known have less than we left them with. */
static uint64_t lowered_pages(const Ledger *ledger, const Topology *topology, size_t k) {
        uint64_t pages = 0;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Pool *pool = &topology->nodes[i].pools[k];
                const LedgerPool *known =
                        ledger_pool(ledger, topology->nodes[i].id, pool->page_size_bytes);

                if (pool->exists && known)
                        pages += sub_floored(known->set_pages, pool_persistent_pages(pool));
        }
        return pages;
}

static LedgerRestored *find_restored(const Ledger *ledger, uint64_t page_size_bytes) {
        VEC_FOREACH(restored, &ledger->restored)
                if (restored->page_size_bytes == page_size_bytes)
                        return restored;
        return NULL;
}

void ledger_restore(Arena *arena, Ledger *ledger, uint64_t page_size_bytes, uint64_t pages) {
        LedgerRestored *restored = find_restored(ledger, page_size_bytes);

        if (restored)
                restored->pages += pages;
        else if (pages > 0)
                *vec_push(arena, &ledger->restored) = (LedgerRestored){page_size_bytes, pages};
}

void ledger_forget_restored(Ledger *ledger) {
        ledger->restored.n = 0;
}

/* Of what is there beyond what we have set, up to *MISSED pages were taken from other nodes. */
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
                known->set_pages = persistent;
                *missed -= ours;
        } else if (persistent < known->found_pages) {
                known->found_pages = known->set_pages = persistent;
        }
}

/* What was restored is there again, so that it can turn up elsewhere only once. */
static uint64_t observe_size(Arena *arena, Ledger *ledger, const Topology *topology, size_t k) {
        LedgerRestored *restored = find_restored(ledger, topology->page_sizes[k].bytes);
        uint64_t missed =
                add_saturated(lowered_pages(ledger, topology, k), restored ? restored->pages : 0);
        uint64_t before = missed;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *node = &topology->nodes[i];

                if (node->pools[k].exists)
                        observe_pool(arena, ledger, node->id, &node->pools[k], &missed);
        }
        if (restored)
                restored->pages = MIN(restored->pages, missed);
        return before - missed;
}

uint64_t ledger_observe(Arena *arena, Ledger *ledger, const Topology *topology,
                        const HostUse *use) {
        uint64_t moved = 0;
        size_t n = 0;

        for (size_t k = 0; k < topology->n_page_sizes; k++)
                moved += observe_size(arena, ledger, topology, k);
        VEC_FOREACH(hold, &ledger->holds)
                if (!use || hold->is_tentative || unit_use_is_running(use, hold->unit))
                        ledger->holds.items[n++] = *hold;
        ledger->holds.n = n;
        return moved;
}

static LedgerInstance copy_instance(Arena *arena, const LedgerInstance *instance) {
        LedgerInstance copy = *instance;

        copy.name = arena_strdup(arena, instance->name);
        copy.grants = (typeof(copy.grants)){};
        VEC_FOREACH(grant, &instance->grants)
                *vec_push(arena, &copy.grants) = *grant;
        return copy;
}

Ledger *ledger_copy(Arena *arena, const Ledger *ledger) {
        Ledger *copy = ledger_new(arena, ledger->boot_id);

        copy->guard = ledger->guard;
        VEC_FOREACH(pool, &ledger->pools)
                *vec_push(arena, &copy->pools) = *pool;
        VEC_FOREACH(restored, &ledger->restored)
                *vec_push(arena, &copy->restored) = *restored;
        VEC_FOREACH(instance, &ledger->instances)
                *vec_push(arena, &copy->instances) = copy_instance(arena, instance);
        VEC_FOREACH(hold, &ledger->holds) {
                LedgerHold *copied = vec_push(arena, &copy->holds);

                *copied = *hold;
                copied->unit = arena_strdup(arena, hold->unit);
                copied->run = arena_strdup(arena, hold->run);
                copied->granted = copy_instance(arena, &hold->granted);
        }
        VEC_FOREACH(refusal, &ledger->refusals)
                ledger_note_refusal(arena, copy, refusal->instance, refusal->run, refusal->text);
        return copy;
}

LedgerHold *ledger_hold(const Ledger *ledger, const char *unit, const char *instance) {
        VEC_FOREACH(hold, &ledger->holds)
                if (unit && text_equals(hold->unit, unit) &&
                    (!instance || text_equals(hold->granted.name, instance)))
                        return hold;
        return NULL;
}

/* In equal parts on NODES, of which there is at least one. */
static void add_evenly(Arena *arena, LedgerInstance *granted, const IdSet *nodes, uint64_t pages) {
        uint64_t left = id_set_count(nodes);

        ID_SET_FOREACH(node, nodes) {
                uint64_t share = div_round_up(pages, left--);
                NodePages *grant = NULL;

                VEC_FOREACH(known, &granted->grants)
                        if (known->node == node)
                                grant = known;
                if (share == 0)
                        continue;
                if (!grant) {
                        grant = vec_push(arena, &granted->grants);
                        *grant = (NodePages){.node = node};
                }
                grant->pages += share;
                pages -= share;
        }
}

/* A unit that was started under another policy than was planned keeps its pages where that has it take
 * them. */
static void move_within(Arena *arena, LedgerInstance *granted, const MemoryPolicy *policy) {
        uint64_t outside = 0;
        size_t n = 0;

        if ((policy->kind != MEMORY_POLICY_BIND && policy->kind != MEMORY_POLICY_INTERLEAVE) ||
            id_set_is_empty(&policy->nodes))
                return;
        VEC_FOREACH(grant, &granted->grants)
                if (id_set_has(&policy->nodes, grant->node))
                        granted->grants.items[n++] = *grant;
                else
                        outside = add_saturated(outside, grant->pages);
        granted->grants.n = n;
        add_evenly(arena, granted, &policy->nodes, outside);
}

void ledger_start(Arena *arena, Ledger *ledger, const char *instance, const LedgerHold *hold) {
        const LedgerInstance *granted = ledger_instance(ledger, instance);
        LedgerHold *known = ledger_hold(ledger, hold->unit, instance);

        if (!granted)
                granted = &hold->granted;
        if (!known)
                known = vec_push(arena, &ledger->holds);
        *known = *hold;
        known->unit = arena_strdup(arena, hold->unit);
        known->run = arena_strdup(arena, hold->run);
        known->granted = copy_instance(arena, granted);
        move_within(arena, &known->granted, &hold->policy);
}

void ledger_end(Ledger *ledger, const char *unit, const char *run, const char *instance) {
        size_t n = 0;

        VEC_FOREACH(hold, &ledger->holds)
                if (!text_equals(hold->unit, unit) || (*run && text_equals(hold->run, run) &&
                                                       !text_equals(hold->granted.name, instance)))
                        ledger->holds.items[n++] = *hold;
        ledger->holds.n = n;
}

void ledger_note_standing(Ledger *ledger) {
        VEC_FOREACH(instance, &ledger->instances)
                if (instance->pages_wanted > 0 &&
                    ledger_granted_pages(instance) >= instance->pages_wanted)
                        instance->has_stood = true;
}

void ledger_release(Arena *arena, Ledger *ledger, const char *instance) {
        LedgerInstance *known = ledger_instance(ledger, instance);

        if (!known) {
                known = vec_push(arena, &ledger->instances);
                known->name = arena_strdup(arena, instance);
        }
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

/* ---- JSON ---- */

void ledger_forget_refusal(Ledger *ledger, const char *instance) {
        size_t n = 0;

        VEC_FOREACH(refusal, &ledger->refusals)
                if (!text_equals(refusal->instance, instance))
                        ledger->refusals.items[n++] = *refusal;
        ledger->refusals.n = n;
}

void ledger_note_refusal(Arena *arena, Ledger *ledger, const char *instance, const char *run,
                         const char *text) {
        const LedgerRefusal refusal = {arena_strdup(arena, instance), arena_strdup(arena, run),
                                       arena_strdup(arena, text)};

        ledger_forget_refusal(ledger, instance);
        *vec_push(arena, &ledger->refusals) = refusal;
}
