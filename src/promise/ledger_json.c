/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ledger as it is kept on disk. With hundreds of instances it is most of what a start reads and writes, so what is
 * as it mostly is goes without saying: a placement that is `spread`, a policy that is `any`, what is not true, and
 * what a unit was started with where its instance has the same: then the name of that stands for it. */
#include "promise/ledger.h"

#include "base/index.h"
#include "base/json.h"
#include "base/size.h"
#include "base/text.h"
#include "model/name_check.h"

enum { LEDGER_VERSION = 3 };

static const char *const guard_names[] = {
        [LEDGER_GUARD_UNDECIDED] = NULL, /* left out */
        [LEDGER_GUARD_CLOSED] = "closed",
        [LEDGER_GUARD_OPEN] = "open",
};

static const char *const policy_names[] = {
        [MEMORY_POLICY_UNKNOWN] = "unknown",
        [MEMORY_POLICY_ANY] = "any",
        [MEMORY_POLICY_BIND] = "bind",
        [MEMORY_POLICY_INTERLEAVE] = "interleave",
};

/* For json_pack()'s "o*", which leaves out what is NULL. */
static json_t *if_true(bool is_true) {
        return is_true ? json_true() : NULL;
}

static json_t *grants_to_json(const LedgerInstance *instance) {
        json_t *nodes = json_object();

        VEC_FOREACH(grant, &instance->grants) {
                char node[16];

                snprintf(node, sizeof(node), "%u", grant->node);
                json_object_set_new(nodes, node, count_to_json(grant->pages));
        }
        return nodes;
}

static json_t *instance_to_json(const LedgerInstance *instance) {
        return json_pack("{ss so so ss* so* so* so}", "name", instance->name, "pageSizeBytes",
                         count_to_json(instance->page_size_bytes), "pagesWanted",
                         count_to_json(instance->pages_wanted), "placement",
                         instance->placement == PLACEMENT_SPREAD
                                 ? NULL
                                 : placement_name(instance->placement),
                         "released", if_true(instance->is_released), "stood",
                         if_true(instance->has_stood), "nodes", grants_to_json(instance));
}

static json_t *granted_to_json(const Ledger *ledger, const LedgerInstance *granted) {
        const LedgerInstance *instance = ledger_instance(ledger, granted->name);

        if (instance && ledger_is_same_grant(granted, instance))
                return json_string(granted->name);
        return instance_to_json(granted);
}

static json_t *hold_to_json(Arena *arena, const Ledger *ledger, const LedgerHold *hold) {
        const MemoryPolicy *policy = &hold->policy;

        return json_pack("{ss ss ss* ss* so* so}", "unit", hold->unit, "run", hold->run, "policy",
                         policy->kind == MEMORY_POLICY_ANY ? NULL : policy_names[policy->kind],
                         "policyNodes",
                         id_set_is_empty(&policy->nodes) ? NULL
                                                         : id_set_format(arena, &policy->nodes),
                         "counted", if_true(hold->is_counted), "granted",
                         granted_to_json(ledger, &hold->granted));
}

json_t *ledger_to_json(const Ledger *ledger) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        json_t *holds = json_array();
        json_t *pools = VEC_TO_JSON(pool, &ledger->pools,
                                    json_pack("{si so so so so}", "node", (int) pool->node,
                                              "pageSizeBytes", count_to_json(pool->page_size_bytes),
                                              "found", count_to_json(pool->found_pages), "set",
                                              count_to_json(pool->set_pages), "others",
                                              count_to_json(pool->others_pages)));
        json_t *instances = VEC_TO_JSON(instance, &ledger->instances, instance_to_json(instance));
        json_t *refusals = VEC_TO_JSON(
                refusal, &ledger->refusals,
                json_pack("{ss ss}", "instance", refusal->instance, "reason", refusal->text));

        VEC_FOREACH(hold, &ledger->holds)
                if (!hold->is_tentative)
                        json_array_append_new(holds, hold_to_json(arena, ledger, hold));
        return json_pack("{si ss ss* so so so so}", "version", LEDGER_VERSION, "bootId",
                         ledger->boot_id, "bootGuard", guard_names[ledger->guard], "pools", pools,
                         "instances", instances, "holds", holds, "refusals", refusals);
}

static bool is_node(int node) {
        return node >= 0 && node < ID_SET_MAX;
}

static int placement_from_name(const char *name) {
        for (int i = PLACEMENT_SPREAD; i < PLACEMENTS; i++)
                if (text_equals(name, placement_name((Placement) i)))
                        return i;
        return -1;
}

static bool read_pool(Arena *arena, Ledger *ledger, const json_t *json) {
        json_int_t size, found, set, others;
        int node;

        if (json_unpack((json_t *) json, "{si sI sI sI sI !}", "node", &node, "pageSizeBytes",
                        &size, "found", &found, "set", &set, "others", &others) < 0)
                return false;
        if (!is_node(node) || size <= 0 || found < 0 || set < found || others < 0 ||
            ledger_pool(ledger, (unsigned) node, (uint64_t) size))
                return false;
        *vec_push(arena, &ledger->pools) = (LedgerPool){
                .node = (unsigned) node,
                .page_size_bytes = (uint64_t) size,
                .found_pages = (uint64_t) found,
                .set_pages = (uint64_t) set,
                .others_pages = (uint64_t) others,
        };
        return true;
}

static bool read_grants(Arena *arena, json_t *nodes, LedgerInstance *instance) {
        const char *key;
        json_t *value;

        if (!json_is_object(nodes))
                return false;
        vec_reserve(arena, &instance->grants, json_object_size(nodes));
        json_object_foreach(nodes, key, value) {
                uint64_t node;

                if (parse_u64(key, &node) < 0 || node >= ID_SET_MAX ||
                    json_integer_value(value) <= 0 ||
                    VEC_ANY(earlier, &instance->grants, earlier->node == node))
                        return false;
                *vec_push(arena, &instance->grants) =
                        (NodePages){(unsigned) node, (uint64_t) json_integer_value(value)};
        }
        return instance->page_size_bytes > 0 || instance->grants.n == 0;
}

static bool read_granted(Arena *arena, const json_t *json, LedgerInstance *ret) {
        const char *name, *placement = placement_name(PLACEMENT_SPREAD);
        json_int_t size, wanted;
        json_t *nodes;
        int released = 0, stood = 0;

        if (json_unpack((json_t *) json, "{ss sI sI s?s s?b s?b so !}", "name", &name,
                        "pageSizeBytes", &size, "pagesWanted", &wanted, "placement", &placement,
                        "released", &released, "stood", &stood, "nodes", &nodes) < 0)
                return false;
        if (size < 0 || wanted < 0 || placement_from_name(placement) < 0 ||
            name_check_instance(name))
                return false;
        *ret = (LedgerInstance){
                .name = arena_strdup(arena, name),
                .page_size_bytes = (uint64_t) size,
                .pages_wanted = (uint64_t) wanted,
                .placement = (Placement) placement_from_name(placement),
                .is_released = released,
                .has_stood = stood,
        };
        return read_grants(arena, nodes, ret);
}

static bool read_instance(Arena *arena, Ledger *ledger, const json_t *json) {
        LedgerInstance instance;

        if (!read_granted(arena, json, &instance))
                return false;
        *vec_push(arena, &ledger->instances) = instance;
        return true;
}

/* By the name of an instance, or as it was. */
static bool read_held(Arena *arena, const Ledger *ledger, const json_t *json, LedgerInstance *ret) {
        if (!json_is_string(json))
                return read_granted(arena, json, ret);
        const LedgerInstance *instance = ledger_instance(ledger, json_string_value(json));

        if (!instance)
                return false;
        *ret = ledger_copy_instance(arena, instance);
        return true;
}

static bool read_hold(Arena *arena, Ledger *ledger, const json_t *json) {
        const char *unit, *run, *policy = policy_names[MEMORY_POLICY_ANY], *nodes = "";
        LedgerHold hold = {};
        json_t *granted;
        int counted = 0, kind;

        if (json_unpack((json_t *) json, "{ss ss s?s s?s s?b so !}", "unit", &unit, "run", &run,
                        "policy", &policy, "policyNodes", &nodes, "counted", &counted, "granted",
                        &granted) < 0 ||
            name_check_unit(unit) ||
            (kind = text_index(policy_names, ARRAY_LEN(policy_names), policy)) < 0 ||
            id_set_parse(nodes, &hold.policy.nodes) < 0 ||
            !read_held(arena, ledger, granted, &hold.granted))
                return false;
        hold.unit = arena_strdup(arena, unit);
        hold.run = arena_strdup(arena, run);
        hold.is_counted = counted;
        hold.policy.kind = (MemoryPolicyKind) kind;
        *vec_push(arena, &ledger->holds) = hold;
        return true;
}

static bool read_refusal(Arena *arena, Ledger *ledger, const json_t *json) {
        const char *instance, *text;

        if (json_unpack((json_t *) json, "{ss ss !}", "instance", &instance, "reason", &text) < 0 ||
            name_check_instance(instance))
                return false;
        ledger_note_refusal(arena, ledger, instance, "", text);
        return true;
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

/* An instance, or what a unit was started with for one. */
static bool is_any_twice(const Ledger *ledger) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Index *names = INDEX_OF(arena, instance, ledger->instances.items, ledger->instances.n,
                                instance->name);
        Index *units = INDEX_OF(arena, hold, ledger->holds.items, ledger->holds.n, hold->unit);

        VEC_FOREACH(hold, &ledger->holds)
                INDEX_FOREACH(entry, units, hold->unit) {
                        const LedgerHold *other = entry->value;

                        if (other != hold && text_equals(other->granted.name, hold->granted.name))
                                return true;
                }
        return VEC_ANY(instance, &ledger->instances, index_entry(names, instance->name)->next);
}

Ledger *ledger_from_json(Arena *arena, const json_t *json, const char *boot_id) {
        Ledger *ledger = ledger_new(arena, boot_id);
        json_t *pools, *instances, *holds, *refusals;
        const char *of_boot, *name = NULL;
        int version, guard;

        if (json_unpack((json_t *) json, "{si ss s?s so so so so !}", "version", &version, "bootId",
                        &of_boot, "bootGuard", &name, "pools", &pools, "instances", &instances,
                        "holds", &holds, "refusals", &refusals) < 0 ||
            version != LEDGER_VERSION || !text_equals(of_boot, boot_id) ||
            (guard = text_index(guard_names, ARRAY_LEN(guard_names), name)) < 0 ||
            !read_all(arena, ledger, pools, read_pool) ||
            !read_all(arena, ledger, instances, read_instance) ||
            !read_all(arena, ledger, holds, read_hold) ||
            !read_all(arena, ledger, refusals, read_refusal) || is_any_twice(ledger))
                return NULL;
        ledger->guard = (LedgerGuard) guard;
        return ledger;
}
