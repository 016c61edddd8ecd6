/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ledger as stored on disk. With hundreds of instances it is most of what a start reads and writes, so defaults are
 * left out: the placement `spread`, the policy `any`, false flags, and the grant of a hold if its instance has the
 * same: the instance's name stands for that.
 *
 * A package is upgraded and downgraded while databases run, so each hugeplan reads what others wrote. Unknown
 * members are ignored. A new member needs no new version; a file of a later version that older hugeplans can still
 * read names the lowest such version in `readableBy` (absent: its own). Of any other file only the pools are read,
 * whose members never change their meaning. Versions 1 and 2 were in no release. */
#include "plan/ledger.h"

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

/* Returns NULL for false: json_pack()'s "o*" leaves out a member that is NULL. */
static json_t *if_true(bool is_true) {
        return is_true ? json_true() : NULL;
}

static json_t *instance_to_json(const LedgerInstance *instance) {
        json_t *nodes = json_object();

        VEC_FOREACH(grant, &instance->grants) {
                char node[16];

                snprintf(node, sizeof(node), "%u", grant->node);
                json_object_set_new(nodes, node, count_to_json(grant->pages));
        }
        return json_pack(
                "{ss so so ss* so* so* so* so* so}", "name", instance->name, "pageSizeBytes",
                count_to_json(instance->page_size_bytes), "pagesWanted",
                count_to_json(instance->pages_wanted), "placement",
                instance->placement == PLACEMENT_SPREAD ? NULL
                                                        : placement_names[instance->placement],
                "released", if_true(instance->is_released), "stood", if_true(instance->has_stood),
                "unready", if_true(instance->has_stood && !instance->was_ready), "likely",
                instance->is_loose ? count_to_json(instance->likely_pages) : NULL, "nodes", nodes);
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

        VEC_FOREACH(hold, &ledger->holds) {
                const MemoryPolicy *policy = &hold->policy;
                const LedgerInstance *instance = ledger_instance(ledger, hold->granted.name);

                if (hold->is_tentative)
                        continue;
                json_array_append_new(
                        holds,
                        json_pack("{ss ss ss* ss* so* so}", "unit", hold->unit, "run", hold->run,
                                  "policy",
                                  policy->kind == MEMORY_POLICY_ANY ? NULL
                                                                    : policy_names[policy->kind],
                                  "policyNodes",
                                  id_set_is_empty(&policy->nodes)
                                          ? NULL
                                          : id_set_format(arena, &policy->nodes),
                                  "counted", if_true(hold->is_counted), "granted",
                                  instance && ledger_is_same_grant(&hold->granted, instance)
                                          ? json_string(instance->name)
                                          : instance_to_json(&hold->granted)));
        }
        json_t *left = ledger->left.n == 0
                               ? NULL
                               : VEC_TO_JSON(each, &ledger->left,
                                             json_pack("{so so}", "pageSizeBytes",
                                                       count_to_json(each->page_size_bytes),
                                                       "pages", count_to_json(each->pages)));

        return json_pack("{si ss ss* so so so so* so}", "version", LEDGER_VERSION, "bootId",
                         ledger->boot_id, "bootGuard", guard_names[ledger->guard], "pools", pools,
                         "instances", instances, "holds", holds, "left", left, "refusals",
                         refusals);
}

static bool read_pool(Arena *arena, Ledger *ledger, const json_t *json) {
        json_int_t size, found, set, others;
        int node;

        if (json_unpack((json_t *) json, "{si sI sI sI sI}", "node", &node, "pageSizeBytes", &size,
                        "found", &found, "set", &set, "others", &others) < 0)
                return false;
        if (node < 0 || node >= ID_SET_MAX || size <= 0 || found < 0 || set < found || others < 0 ||
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

static bool read_granted(Arena *arena, const json_t *json, LedgerInstance *ret) {
        const char *name, *key, *placement = placement_names[PLACEMENT_SPREAD];
        json_int_t size, wanted, likely = -1;
        json_t *nodes, *value;
        int released = 0, stood = 0, unready = 0;

        if (json_unpack((json_t *) json, "{ss sI sI s?s s?b s?b s?b s?I so}", "name", &name,
                        "pageSizeBytes", &size, "pagesWanted", &wanted, "placement", &placement,
                        "released", &released, "stood", &stood, "unready", &unready, "likely",
                        &likely, "nodes", &nodes) < 0)
                return false;
        int placed = text_index(placement_names, PLACEMENTS, placement);

        if (size < 0 || wanted < 0 || placed < 0 || name_check_instance(name))
                return false;
        *ret = (LedgerInstance){
                .name = arena_strdup(arena, name),
                .page_size_bytes = (uint64_t) size,
                .pages_wanted = (uint64_t) wanted,
                .placement = (Placement) placed,
                .is_released = released,
                .has_stood = stood,
                .was_ready = stood && !unready,
                .is_loose = likely >= 0,
                .likely_pages = likely >= 0 ? (uint64_t) likely : 0,
        };
        if (!json_is_object(nodes))
                return false;
        vec_reserve(arena, &ret->grants, json_object_size(nodes));
        json_object_foreach(nodes, key, value) {
                json_int_t pages = json_integer_value(value);
                uint64_t node;

                if (parse_u64(key, &node) < 0 || node >= ID_SET_MAX || pages <= 0 ||
                    VEC_ANY(earlier, &ret->grants, earlier->node == node))
                        return false;
                *vec_push(arena, &ret->grants) = (NodePages){(unsigned) node, (uint64_t) pages};
        }
        return ret->page_size_bytes > 0 || ret->grants.n == 0;
}

static bool read_instance(Arena *arena, Ledger *ledger, const json_t *json) {
        LedgerInstance instance;

        if (!read_granted(arena, json, &instance))
                return false;
        *vec_push(arena, &ledger->instances) = instance;
        return true;
}

static bool read_hold(Arena *arena, Ledger *ledger, const json_t *json) {
        const char *unit, *run, *policy = policy_names[MEMORY_POLICY_ANY], *nodes = "";
        LedgerHold hold = {};
        json_t *granted;
        int counted = 0, kind;

        if (json_unpack((json_t *) json, "{ss ss s?s s?s s?b so}", "unit", &unit, "run", &run,
                        "policy", &policy, "policyNodes", &nodes, "counted", &counted, "granted",
                        &granted) < 0 ||
            name_check_unit(unit) ||
            (kind = text_index(policy_names, ARRAY_LEN(policy_names), policy)) < 0 ||
            id_set_parse(nodes, &hold.policy.nodes) < 0)
                return false;
        /* The name of an instance that has the same grant, or a grant of its own. */
        const LedgerInstance *same = json_is_string(granted)
                                             ? ledger_instance(ledger, json_string_value(granted))
                                             : NULL;

        if (same)
                hold.granted = ledger_copy_instance(arena, same);
        else if (!read_granted(arena, granted, &hold.granted))
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

        if (json_unpack((json_t *) json, "{ss ss}", "instance", &instance, "reason", &text) < 0 ||
            name_check_instance(instance))
                return false;
        ledger_note_refusal(arena, ledger, instance, "", text);
        return true;
}

static bool read_left(Arena *arena, Ledger *ledger, const json_t *json) {
        json_int_t size, pages;

        if (json_unpack((json_t *) json, "{sI sI !}", "pageSizeBytes", &size, "pages", &pages) <
                    0 ||
            size <= 0 || pages < 0)
                return false;
        *vec_push(arena, &ledger->left) = (PageCount){(uint64_t) size, (uint64_t) pages};
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

/* Returns whether the ledger has an instance twice, or two holds of a unit for one instance. */
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

/* Reads all but the pools; returns false if any detail is wrong. */
static bool read_ledger(Arena *arena, Ledger *ledger, const json_t *json) {
        json_t *instances, *holds, *left = NULL, *refusals;
        const char *name = NULL;
        int guard;

        if (json_unpack((json_t *) json, "{s?s so s?o so so}", "bootGuard", &name, "instances",
                        &instances, "left", &left, "holds", &holds, "refusals", &refusals) < 0 ||
            (guard = text_index(guard_names, ARRAY_LEN(guard_names), name)) < 0 ||
            !read_all(arena, ledger, instances, read_instance) ||
            !read_all(arena, ledger, holds, read_hold) ||
            (left && !read_all(arena, ledger, left, read_left)) ||
            !read_all(arena, ledger, refusals, read_refusal))
                return false;
        ledger->guard = (LedgerGuard) guard;
        return !is_any_twice(ledger);
}

static bool is_known(int version, int readable_by) {
        return version >= LEDGER_VERSION && readable_by <= LEDGER_VERSION;
}

Ledger *ledger_from_json(Arena *arena, const json_t *json, const char *boot_id,
                         const char **ret_lost) {
        static const char lost_pools[] =
                "the pages that the pools hold now count as existing: none is given back before "
                "the next boot, or before nr_hugepages is lowered by hand";
        Ledger *ledger = ledger_new(arena, boot_id);
        const json_t *pools = json_object_get(json, "pools");
        int version = 0, readable_by;
        const char *of_boot;
        bool is_ledger = json_unpack((json_t *) json, "{si ss}", "version", &version, "bootId",
                                     &of_boot) == 0 &&
                         version > 0;

        *ret_lost = NULL;
        if (is_ledger && !text_equals(of_boot, boot_id)) {
                *ret_lost = "is from another boot; a new one is started";
                return NULL;
        }
        readable_by = version;
        if (!is_ledger || json_unpack((json_t *) json, "{s?i}", "readableBy", &readable_by) < 0 ||
            !read_all(arena, ledger, pools, read_pool) ||
            (is_known(version, readable_by) && !read_ledger(arena, ledger, json))) {
                *ret_lost = arena_printf(arena, "is broken; %s", lost_pools);
                return NULL;
        }
        if (!is_known(version, readable_by))
                *ret_lost = arena_printf(
                        arena,
                        "is of version %d, and this hugeplan reads version %d; only the "
                        "pages that existed before are taken from it: the pages that units "
                        "were started with are estimated from the kernel's counts",
                        version, LEDGER_VERSION);
        return ledger;
}
