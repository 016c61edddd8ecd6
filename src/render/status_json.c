/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/status_json.h"

#include "base/size.h"
#include "base/text.h"
#include "config/config.h"

/* ---- writing ---- */

static json_t *integer(uint64_t n) {
        return json_integer((json_int_t) MIN(n, (uint64_t) INT64_MAX));
}

static json_t *nodes_to_json(const NodePages *nodes, size_t n) {
        json_t *array = json_array();

        for (size_t i = 0; i < n; i++)
                json_array_append_new(array, json_pack("{si so}", "node", (int) nodes[i].node,
                                                       "pages", integer(nodes[i].pages)));
        return array;
}

static json_t *pool_to_json(const StatusPool *pool) {
        return json_pack("{si so so so so so so}", "node", (int) pool->node, "pageSizeBytes",
                         integer(pool->page_size_bytes), "total", integer(pool->total_pages),
                         "free", integer(pool->free_pages), "surplus", integer(pool->surplus_pages),
                         "foreign", integer(pool->foreign_pages), "owned",
                         integer(pool->owned_pages));
}

static json_t *hold_to_json(const StatusHold *hold) {
        return json_pack("{ss ss so so so}", "instance", hold->instance, "unit", hold->unit,
                         "pageSizeBytes", integer(hold->page_size_bytes), "pages",
                         integer(hold->pages), "nodes", nodes_to_json(hold->nodes, hold->n_nodes));
}

static json_t *ids_to_json(const IdSet *ids) {
        json_t *array = json_array();

        ID_SET_FOREACH(id, ids)
        json_array_append_new(array, json_integer(id));
        return array;
}

static json_t *reserved_to_json(const StatusReserved *reserved) {
        json_t *nodes = id_set_is_empty(&reserved->nodes) ? json_null()
                                                          : ids_to_json(&reserved->nodes);

        return json_pack("{ss? ss? so so so sb}", "unit", reserved->unit, "instance",
                         reserved->instance, "pageSizeBytes", integer(reserved->page_size_bytes),
                         "pages", integer(reserved->pages), "nodes", nodes, "likely",
                         reserved->is_likely);
}

/* Left out where it is not known. */
static void set_fingerprint(json_t *json, const char *fingerprint) {
        if (fingerprint)
                json_object_set_new(json, "configuration", json_string(fingerprint));
}

json_t *status_instance_to_json(const StatusInstance *instance) {
        const Reason *reason = &instance->reason;
        json_t *json = json_pack(
                "{ss ss? ss? ss? ss so so so so si ss sb so ss? ss? ss?}", "name", instance->name,
                "engine", instance->engine, "unit", instance->unit, "file", instance->file,
                "verdict", verdict_name(instance->verdict), "pageSizeBytes",
                instance->page_size_bytes ? integer(instance->page_size_bytes) : json_null(),
                "pagesWanted", integer(instance->pages_wanted), "pagesGranted",
                integer(instance->pages_granted), "nodes",
                nodes_to_json(instance->nodes, instance->n_nodes), "priority",
                (int) instance->priority, "shortage", shortage_name(instance->shortage), "running",
                instance->is_running, "untilRestart",
                instance->until_restart ? hold_to_json(instance->until_restart) : json_null(),
                "reason", reason->text, "reasonId",
                reason->kind == REASON_NONE ? NULL : reason_id(reason->kind), "remedy",
                reason->remedy);

        set_fingerprint(json, instance->fingerprint);
        return json;
}

json_t *problem_to_json(const Diag *problem) {
        return json_pack("{ss ss ss? so ss? ss ss?}", "id", problem->id, "severity",
                         severity_name(problem->severity), "file", problem->file, "line",
                         problem->line > 0 ? integer(problem->line) : json_null(), "key",
                         problem->key, "text", problem->text, "remedy", problem->remedy);
}

json_t *problems_to_json(const Diags *problems) {
        json_t *array = json_array();

        VEC_FOREACH(problem, &problems->list)
                json_array_append_new(array, problem_to_json(problem));
        return array;
}

static json_t *holders_to_json(const Status *status) {
        json_t *array = json_array();

        VEC_FOREACH(holder, &status->holders->list) {
                const StatusInstance *instance = status_find_unit(status, holder->unit);

                json_array_append_new(array,
                                      holder_to_json(holder, instance ? instance->name : NULL));
        }
        return array;
}

json_t *status_to_json(const Status *status) {
        json_t *pools = json_array(), *instances = json_array(), *efforts = json_array();
        json_t *reserved = json_array(), *kept = json_array();

        for (size_t i = 0; i < status->n_pools; i++)
                json_array_append_new(pools, pool_to_json(&status->pools[i]));
        for (size_t i = 0; i < status->n_instances; i++)
                json_array_append_new(instances, status_instance_to_json(&status->instances[i]));
        VEC_FOREACH(effort, &status->efforts)
                json_array_append_new(efforts, effort_to_json(effort));
        VEC_FOREACH(part, &status->reserved)
                json_array_append_new(reserved, reserved_to_json(part));
        VEC_FOREACH(hold, &status->left)
                json_array_append_new(kept, hold_to_json(hold));
        json_t *json =
                json_pack("{s{ss ss? ss? ss? ss} so so so so so so}", "host", "verdict",
                          verdict_name(status->verdict), "transparentHugePages", status->thp,
                          "bootId", status->boot_id && *status->boot_id ? status->boot_id : NULL,
                          "phase", status->phase, "version", HUGEPLAN_VERSION, "pools", pools,
                          "reserved", reserved, "kept", kept, "instances", instances, "problems",
                          problems_to_json(&status->problems), "efforts", efforts);

        set_fingerprint(json_object_get(json, "host"), status->fingerprint);
        if (status->holders)
                json_object_set_new(json, "holders", holders_to_json(status));
        return json;
}

/* A plan shows instances as they would be if it were applied. */
static json_t *plan_instance_to_json(const PlanInstance *planned) {
        const InstanceConfig *config = planned->demand->config;
        StatusInstance instance = {
                .name = config->name,
                .engine = config->engine->name,
                .unit = config->unit,
                .file = config->file,
                .verdict = plan_verdict(planned),
                .page_size_bytes = planned->page_size_bytes,
                .pages_wanted = planned->pages_wanted,
                .pages_granted = planned->pages_granted,
                .nodes = planned->grants,
                .n_nodes = planned->n_grants,
                .priority = config->priority,
                .shortage = config->shortage,
                .is_running = planned->hold && !planned->hold->is_tentative,
                .reason = *plan_reason(planned),
        };

        return status_instance_to_json(&instance);
}

static json_t *grants_to_json(const Plan *plan) {
        json_t *instances = json_array();

        for (size_t i = 0; i < plan->n_instances; i++)
                json_array_append_new(instances, plan_instance_to_json(&plan->instances[i]));
        return instances;
}

static json_t *steps_to_json(Arena *arena, const Plan *plan) {
        PlanSteps steps = plan_steps(arena, plan);
        json_t *array = json_array();

        VEC_FOREACH(step, &steps)
                json_array_append_new(array, json_pack("{si so so so so}", "node",
                                                       (int) step->pool->node, "pageSizeBytes",
                                                       integer(step->pool->page_size_bytes), "from",
                                                       integer(step->from_pages), "to",
                                                       integer(step->to_pages), "splitIntoBytes",
                                                       step->split_into_bytes > 0
                                                               ? integer(step->split_into_bytes)
                                                               : json_null()));
        return array;
}

static void add_writes(json_t *array, const HostWrites *writes) {
        VEC_FOREACH(write, writes)
                json_array_append_new(
                        array, json_pack("{ss ss}", "path", write->path, "value", write->value));
}

static json_t *exposures_to_json(const Plan *plan) {
        json_t *exposures = json_array();

        VEC_FOREACH(exposure, &plan->exposures)
                json_array_append_new(exposures,
                                      json_pack("{ss so so so ss? so}", "unit", exposure->unit,
                                                "pageSizeBytes", integer(exposure->page_size_bytes),
                                                "pages", integer(exposure->pages), "nodes",
                                                ids_to_json(&exposure->nodes), "taker",
                                                exposure->taker, "takerPages",
                                                integer(exposure->taker_pages)));
        return exposures;
}

json_t *plan_to_json(const Plan *plan, const Plan *after_reload, const HostPlan *host) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        json_t *writes = json_array(), *reloaded = json_null();

        add_writes(writes, &host->thp.writes);
        add_writes(writes, &host->limits.writes);
        if (after_reload)
                reloaded = json_pack("{so so}", "instances", grants_to_json(after_reload), "steps",
                                     steps_to_json(arena, after_reload));
        return json_pack("{so so so so so}", "instances", grants_to_json(plan), "steps",
                         steps_to_json(arena, plan), "writes", writes, "exposures",
                         exposures_to_json(plan), "afterReload", reloaded);
}

/* ---- reading ---- */

/* Fit for a terminal, whoever has said it. */
static const char *get_string(Arena *arena, const json_t *object, const char *key) {
        const char *string = json_string_value(json_object_get(object, key));

        return string ? text_printable(arena, string) : NULL;
}

static uint64_t get_count(const json_t *object, const char *key) {
        json_int_t value = json_integer_value(json_object_get(object, key));

        return value > 0 ? (uint64_t) value : 0;
}

static NodePages *nodes_from_json(Arena *arena, const json_t *array, size_t *ret_n) {
        size_t n = json_array_size(array);
        NodePages *nodes = ARENA_ARRAY(arena, NodePages, n + 1);

        for (size_t i = 0; i < n; i++) {
                const json_t *item = json_array_get(array, i);

                nodes[i] =
                        (NodePages){(unsigned) get_count(item, "node"), get_count(item, "pages")};
        }
        *ret_n = n;
        return nodes;
}

static bool hold_from_json(Arena *arena, const json_t *json, StatusHold *ret) {
        *ret = (StatusHold){
                .instance = get_string(arena, json, "instance"),
                .unit = get_string(arena, json, "unit"),
                .page_size_bytes = get_count(json, "pageSizeBytes"),
                .pages = get_count(json, "pages"),
        };
        ret->nodes = nodes_from_json(arena, json_object_get(json, "nodes"), &ret->n_nodes);
        return ret->instance && ret->unit;
}

static StatusReserved reserved_from_json(Arena *arena, const json_t *json) {
        const json_t *nodes = json_object_get(json, "nodes");
        StatusReserved reserved = {
                .unit = get_string(arena, json, "unit"),
                .instance = get_string(arena, json, "instance"),
                .page_size_bytes = get_count(json, "pageSizeBytes"),
                .pages = get_count(json, "pages"),
                .is_likely = json_is_true(json_object_get(json, "likely")),
        };

        for (size_t i = 0; i < json_array_size(nodes); i++) {
                json_int_t node = json_integer_value(json_array_get(nodes, i));

                if (node >= 0 && node < ID_SET_MAX)
                        id_set_add(&reserved.nodes, (unsigned) node);
        }
        return reserved;
}

int status_instance_from_json(Arena *arena, const json_t *json, StatusInstance *ret) {
        StatusInstance instance = {
                .name = get_string(arena, json, "name"),
                .engine = get_string(arena, json, "engine"),
                .unit = get_string(arena, json, "unit"),
                .file = get_string(arena, json, "file"),
                .page_size_bytes = get_count(json, "pageSizeBytes"),
                .pages_wanted = get_count(json, "pagesWanted"),
                .pages_granted = get_count(json, "pagesGranted"),
                .priority = (unsigned) get_count(json, "priority"),
                .shortage = text_equals(get_string(arena, json, "shortage"), "degrade")
                                    ? SHORTAGE_DEGRADE
                                    : SHORTAGE_REFUSE,
                .reason = {.text = get_string(arena, json, "reason"),
                           .remedy = get_string(arena, json, "remedy")},
                .fingerprint = get_string(arena, json, "configuration"),
        };

        if (!instance.name ||
            verdict_from_name(get_string(arena, json, "verdict"), &instance.verdict) < 0)
                return -EPROTO;
        reason_from_id(get_string(arena, json, "reasonId"), &instance.reason.kind);
        instance.is_running = json_is_true(json_object_get(json, "running"));
        StatusHold until;

        if (hold_from_json(arena, json_object_get(json, "untilRestart"), &until))
                instance.until_restart = arena_memdup(arena, &until, sizeof(until));
        instance.nodes = nodes_from_json(arena, json_object_get(json, "nodes"), &instance.n_nodes);
        *ret = instance;
        return 0;
}

static StatusPool pool_from_json(const json_t *json) {
        return (StatusPool){
                .node = (unsigned) get_count(json, "node"),
                .page_size_bytes = get_count(json, "pageSizeBytes"),
                .total_pages = get_count(json, "total"),
                .free_pages = get_count(json, "free"),
                .surplus_pages = get_count(json, "surplus"),
                .foreign_pages = get_count(json, "foreign"),
                .owned_pages = get_count(json, "owned"),
        };
}

static void problem_from_json(Arena *arena, const json_t *json, Diags *problems) {
        Diag problem = {
                .severity = SEVERITY_ERROR,
                .id = get_string(arena, json, "id"),
                .file = get_string(arena, json, "file"),
                .line = (unsigned) get_count(json, "line"),
                .key = get_string(arena, json, "key"),
                .text = get_string(arena, json, "text"),
                .remedy = get_string(arena, json, "remedy"),
        };

        severity_from_name(get_string(arena, json, "severity"), &problem.severity);
        if (problem.text)
                diags_add(problems, &problem);
}

Diags problems_from_json(Arena *arena, const json_t *json) {
        Diags problems = diags_in(arena);

        for (size_t i = 0; i < json_array_size(json); i++)
                problem_from_json(arena, json_array_get(json, i), &problems);
        return problems;
}

static Efforts efforts_from_json(Arena *arena, const json_t *json) {
        Efforts efforts = {};
        Effort effort;

        for (size_t i = 0; i < json_array_size(json); i++)
                if (effort_from_json(json_array_get(json, i), &effort) == 0)
                        *vec_push(arena, &efforts) = effort;
        return efforts;
}

static const Holders *holders_from_json(Arena *arena, const json_t *json) {
        Holders *holders = json_is_array(json) ? ARENA_NEW(arena, Holders) : NULL;
        Holder holder;

        for (size_t i = 0; holders && i < json_array_size(json); i++)
                if (holder_from_json(arena, json_array_get(json, i), &holder) == 0)
                        *vec_push(arena, &holders->list) = holder;
        return holders;
}

Status *status_from_json(Arena *arena, const json_t *json) {
        const json_t *host = json_object_get(json, "host");
        const json_t *pools = json_object_get(json, "pools");
        const json_t *instances = json_object_get(json, "instances");
        const json_t *problems = json_object_get(json, "problems");
        Status *status = ARENA_NEW(arena, Status);

        if (!json_is_array(pools) || !json_is_array(instances) || !json_is_array(problems) ||
            verdict_from_name(get_string(arena, host, "verdict"), &status->verdict) < 0)
                return NULL;
        status->thp = get_string(arena, host, "transparentHugePages");
        status->phase = get_string(arena, host, "phase");
        status->boot_id = get_string(arena, host, "bootId");
        status->fingerprint = get_string(arena, host, "configuration");
        status->n_pools = json_array_size(pools);
        status->pools = ARENA_ARRAY(arena, StatusPool, status->n_pools + 1);
        for (size_t i = 0; i < status->n_pools; i++)
                status->pools[i] = pool_from_json(json_array_get(pools, i));
        status->n_instances = json_array_size(instances);
        status->instances = ARENA_ARRAY(arena, StatusInstance, status->n_instances + 1);
        for (size_t i = 0; i < status->n_instances; i++)
                if (status_instance_from_json(arena, json_array_get(instances, i),
                                              &status->instances[i]) < 0)
                        return NULL;
        status->problems = problems_from_json(arena, problems);
        for (size_t i = 0; i < json_array_size(json_object_get(json, "reserved")); i++)
                *vec_push(arena, &status->reserved) = reserved_from_json(
                        arena, json_array_get(json_object_get(json, "reserved"), i));
        for (size_t i = 0; i < json_array_size(json_object_get(json, "kept")); i++) {
                StatusHold hold;

                if (hold_from_json(arena, json_array_get(json_object_get(json, "kept"), i), &hold))
                        *vec_push(arena, &status->left) = hold;
        }
        status->efforts = efforts_from_json(arena, json_object_get(json, "efforts"));
        status->holders = holders_from_json(arena, json_object_get(json, "holders"));
        return status;
}
