/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "promise/ledger.h"

#include "base/size.h"
#include "base/text.h"
#include "model/name_check.h"

enum { LEDGER_VERSION = 1 };

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
static void observe_known(LedgerPool *known, uint64_t persistent, uint64_t busy, uint64_t *missed) {
        if (persistent > known->set_pages) {
                uint64_t more = persistent - known->set_pages;
                uint64_t ours = MIN(more, *missed);

                known->found_pages += more - ours;
                known->set_pages = persistent;
                *missed -= ours;
        } else if (persistent < known->found_pages) {
                known->found_pages = known->set_pages = persistent;
        }
        /* Others hold no more than what is in use or promised: who has left holds nothing. */
        known->foreign_pages = MIN(known->foreign_pages, MIN(persistent, busy));
}

static void observe_pool(Arena *arena, Ledger *ledger, const Topology *topology, unsigned node,
                         const Pool *pool, uint64_t *missed) {
        LedgerPool *known = ledger_pool(ledger, node, pool->page_size_bytes);
        uint64_t persistent = pool_persistent_pages(pool);
        uint64_t promised = topology_promised_pages(topology, node, pool->page_size_bytes);

        if (known)
                observe_known(known, persistent, add_saturated(pool_used_pages(pool), promised),
                              missed);
        else
                *vec_push(arena, &ledger->pools) = (LedgerPool){
                        .node = node,
                        .page_size_bytes = pool->page_size_bytes,
                        .found_pages = persistent,
                        .set_pages = persistent,
                };
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
                        observe_pool(arena, ledger, topology, node->id, &node->pools[k], &missed);
        }
        if (restored)
                restored->pages = MIN(restored->pages, missed);
        return before - missed;
}

uint64_t ledger_observe(Arena *arena, Ledger *ledger, const Topology *topology) {
        uint64_t moved = 0;

        for (size_t k = 0; k < topology->n_page_sizes; k++)
                moved += observe_size(arena, ledger, topology, k);
        return moved;
}

Ledger *ledger_copy(Arena *arena, const Ledger *ledger) {
        Ledger *copy = ledger_new(arena, ledger->boot_id);

        copy->guard = ledger->guard;
        VEC_FOREACH(pool, &ledger->pools)
                *vec_push(arena, &copy->pools) = *pool;
        VEC_FOREACH(restored, &ledger->restored)
                *vec_push(arena, &copy->restored) = *restored;
        VEC_FOREACH(instance, &ledger->instances) {
                LedgerInstance *copied = vec_push(arena, &copy->instances);

                *copied = *instance;
                copied->name = arena_strdup(arena, instance->name);
                copied->grants = (typeof(copied->grants)){};
                VEC_FOREACH(grant, &instance->grants)
                        *vec_push(arena, &copied->grants) = *grant;
        }
        return copy;
}

void ledger_release(Arena *arena, Ledger *ledger, const char *instance) {
        LedgerInstance *known = ledger_instance(ledger, instance);

        if (!known) {
                known = vec_push(arena, &ledger->instances);
                known->name = arena_strdup(arena, instance);
        }
        known->is_released = true;
        known->is_held = false;
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

static const char *const guard_names[] = {
        [LEDGER_GUARD_UNDECIDED] = NULL, /* left out */
        [LEDGER_GUARD_CLOSED] = "closed",
        [LEDGER_GUARD_OPEN] = "open",
};

/* JSON's integers are signed: what is beyond them is the largest. */
static json_int_t integer(uint64_t n) {
        return (json_int_t) MIN(n, (uint64_t) INT64_MAX);
}

static json_t *pool_to_json(const LedgerPool *pool) {
        return json_pack("{si sI sI sI sI}", "node", (int) pool->node, "pageSizeBytes",
                         integer(pool->page_size_bytes), "found", integer(pool->found_pages), "set",
                         integer(pool->set_pages), "foreign", integer(pool->foreign_pages));
}

static json_t *instance_to_json(const LedgerInstance *instance) {
        json_t *grants = json_array();

        VEC_FOREACH(grant, &instance->grants)
                json_array_append_new(grants, json_pack("{si sI}", "node", (int) grant->node,
                                                        "pages", integer(grant->pages)));
        return json_pack("{ss sI sI ss sb sb so}", "name", instance->name, "pageSizeBytes",
                         integer(instance->page_size_bytes), "pagesWanted",
                         integer(instance->pages_wanted), "placement",
                         placement_name(instance->placement), "held", instance->is_held, "released",
                         instance->is_released, "nodes", grants);
}

json_t *ledger_to_json(const Ledger *ledger) {
        json_t *pools = json_array(), *instances = json_array();

        VEC_FOREACH(pool, &ledger->pools)
                json_array_append_new(pools, pool_to_json(pool));
        VEC_FOREACH(instance, &ledger->instances)
                json_array_append_new(instances, instance_to_json(instance));
        return json_pack("{si ss ss* so so}", "version", LEDGER_VERSION, "bootId", ledger->boot_id,
                         "bootGuard", guard_names[ledger->guard], "pools", pools, "instances",
                         instances);
}

static bool is_node(int node) {
        return node >= 0 && node < ID_SET_MAX;
}

static bool read_pool(Arena *arena, Ledger *ledger, const json_t *json) {
        json_int_t size, found, set, foreign;
        int node;

        if (json_unpack((json_t *) json, "{si sI sI sI sI !}", "node", &node, "pageSizeBytes",
                        &size, "found", &found, "set", &set, "foreign", &foreign) < 0)
                return false;
        if (!is_node(node) || size <= 0 || found < 0 || set < found || foreign < 0 ||
            ledger_pool(ledger, (unsigned) node, (uint64_t) size))
                return false;
        *vec_push(arena, &ledger->pools) = (LedgerPool){
                .node = (unsigned) node,
                .page_size_bytes = (uint64_t) size,
                .found_pages = (uint64_t) found,
                .set_pages = (uint64_t) set,
                .foreign_pages = (uint64_t) foreign,
        };
        return true;
}

static int placement_from_name(const char *name) {
        for (int i = PLACEMENT_SPREAD; i < PLACEMENTS; i++)
                if (text_equals(name, placement_name((Placement) i)))
                        return i;
        return -1;
}

static bool read_grant(Arena *arena, LedgerInstance *instance, const json_t *json) {
        json_int_t pages;
        int node;

        if (json_unpack((json_t *) json, "{si sI !}", "node", &node, "pages", &pages) < 0 ||
            !is_node(node) || pages <= 0)
                return false;
        VEC_FOREACH(earlier, &instance->grants)
                if (earlier->node == (unsigned) node)
                        return false;
        *vec_push(arena, &instance->grants) = (LedgerGrant){(unsigned) node, (uint64_t) pages};
        return true;
}

static bool read_instance(Arena *arena, Ledger *ledger, const json_t *json) {
        const char *name, *placement;
        json_int_t size, wanted;
        json_t *grants, *grant;
        size_t i;
        int held, released;

        if (json_unpack((json_t *) json, "{ss sI sI ss sb sb so !}", "name", &name, "pageSizeBytes",
                        &size, "pagesWanted", &wanted, "placement", &placement, "held", &held,
                        "released", &released, "nodes", &grants) < 0)
                return false;
        if (size < 0 || wanted < 0 || placement_from_name(placement) < 0 ||
            !json_is_array(grants) || (size == 0 && json_array_size(grants) > 0) ||
            name_check_instance(name) || ledger_instance(ledger, name))
                return false;

        LedgerInstance *instance = vec_push(arena, &ledger->instances);

        *instance = (LedgerInstance){
                .name = arena_strdup(arena, name),
                .page_size_bytes = (uint64_t) size,
                .pages_wanted = (uint64_t) wanted,
                .placement = (Placement) placement_from_name(placement),
                .is_held = held,
                .is_released = released,
        };
        json_array_foreach(grants, i, grant)
                if (!read_grant(arena, instance, grant))
                        return false;
        return true;
}

static bool read_guard(Ledger *ledger, const char *name) {
        for (int guard = LEDGER_GUARD_UNDECIDED; guard <= LEDGER_GUARD_OPEN; guard++)
                if (text_equals(name, guard_names[guard])) {
                        ledger->guard = (LedgerGuard) guard;
                        return true;
                }
        return false;
}

static bool read_all(Arena *arena, Ledger *ledger, const json_t *list,
                     bool (*read)(Arena *, Ledger *, const json_t *)) {
        const json_t *item;
        size_t i;

        if (!json_is_array(list))
                return false;
        json_array_foreach(list, i, item)
                if (!read(arena, ledger, item))
                        return false;
        return true;
}

Ledger *ledger_from_json(Arena *arena, const json_t *json, const char *boot_id) {
        Ledger *ledger = ledger_new(arena, boot_id);
        json_t *pools, *instances;
        const char *of_boot, *guard = NULL;
        int version;

        if (json_unpack((json_t *) json, "{si ss s?s so so !}", "version", &version, "bootId",
                        &of_boot, "bootGuard", &guard, "pools", &pools, "instances",
                        &instances) < 0 ||
            version != LEDGER_VERSION || !text_equals(of_boot, boot_id) ||
            !read_guard(ledger, guard))
                return NULL;
        if (!read_all(arena, ledger, pools, read_pool) ||
            !read_all(arena, ledger, instances, read_instance))
                return NULL;
        return ledger;
}
