/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/status_json.h"

#include "base/size.h"
#include "base/text.h"
#include "config/config.h"
#include "status/json_value.h"

/* ---- writing ---- */

static json_t *hold_to_json(const StatusHold *hold) {
        return json_pack("{ss ss so so so}", "instance", hold->instance, "unit", hold->unit,
                         "pageSizeBytes", count_to_json(hold->page_size_bytes), "pages",
                         count_to_json(hold->pages), "nodes",
                         node_pages_to_json(hold->nodes, hold->n_nodes));
}

static json_t *ids_to_json(const IdSet *ids) {
        json_t *array = json_array();

        ID_SET_FOREACH(id, ids)
                json_array_append_new(array, json_integer(id));
        return array;
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
                instance->page_size_bytes ? count_to_json(instance->page_size_bytes) : json_null(),
                "pagesWanted", count_to_json(instance->pages_wanted), "pagesGranted",
                count_to_json(instance->pages_granted), "nodes",
                node_pages_to_json(instance->nodes, instance->n_nodes), "priority",
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
                         problem->line > 0 ? count_to_json(problem->line) : json_null(), "key",
                         problem->key, "text", problem->text, "remedy", problem->remedy);
}

json_t *problems_to_json(const Diags *problems) {
        json_t *array = json_array();

        VEC_FOREACH(problem, &problems->list)
                json_array_append_new(array, problem_to_json(problem));
        return array;
}

static json_t *page_users_to_json(const Status *status) {
        json_t *array = json_array();

        VEC_FOREACH(page_user, &status->page_users->list) {
                const StatusInstance *instance = status_find_unit(status, page_user->unit);

                json_array_append_new(
                        array, page_user_to_json(page_user, instance ? instance->name : NULL));
        }
        return array;
}

json_t *status_to_json(const Status *status) {
        json_t *pools = json_array(), *instances = json_array(), *attempts = json_array();
        json_t *reserved = json_array(), *kept = json_array();

        for (size_t i = 0; i < status->n_pools; i++) {
                const StatusPool *pool = &status->pools[i];

                json_array_append_new(
                        pools, json_pack("{si so so so so so so}", "node", (int) pool->node,
                                         "pageSizeBytes", count_to_json(pool->page_size_bytes),
                                         "total", count_to_json(pool->total_pages), "free",
                                         count_to_json(pool->free_pages), "surplus",
                                         count_to_json(pool->surplus_pages), "foreign",
                                         count_to_json(pool->foreign_pages), "owned",
                                         count_to_json(pool->owned_pages)));
        }
        for (size_t i = 0; i < status->n_instances; i++)
                json_array_append_new(instances, status_instance_to_json(&status->instances[i]));
        VEC_FOREACH(attempt, &status->attempts)
                json_array_append_new(attempts, attempt_to_json(attempt));
        VEC_FOREACH(part, &status->reserved)
                json_array_append_new(reserved,
                                      json_pack("{ss? ss? so so so sb}", "unit", part->unit,
                                                "instance", part->instance, "pageSizeBytes",
                                                count_to_json(part->page_size_bytes), "pages",
                                                count_to_json(part->pages), "nodes",
                                                id_set_is_empty(&part->nodes)
                                                        ? json_null()
                                                        : ids_to_json(&part->nodes),
                                                "likely", part->is_likely));
        VEC_FOREACH(hold, &status->left)
                json_array_append_new(kept, hold_to_json(hold));
        json_t *json =
                json_pack("{s{ss ss? ss? ss? ss} so so so so so so}", "host", "verdict",
                          verdict_name(status->verdict), "transparentHugePages", status->thp,
                          "bootId", status->boot_id && *status->boot_id ? status->boot_id : NULL,
                          "phase", status->phase, "version", HUGEPLAN_VERSION, "pools", pools,
                          "reserved", reserved, "kept", kept, "instances", instances, "problems",
                          problems_to_json(&status->problems), "attempts", attempts);

        set_fingerprint(json_object_get(json, "host"), status->fingerprint);
        if (status->page_users)
                json_object_set_new(json, "pageUsers", page_users_to_json(status));
        return json;
}

/* A plan shows instances as they would be if it were applied. */
static json_t *grants_to_json(const Plan *plan) {
        json_t *instances = json_array();

        for (size_t i = 0; i < plan->n_instances; i++) {
                const PlanInstance *planned = &plan->instances[i];
                const InstanceConfig *config = planned->demand->config;
                const StatusInstance instance = {
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

                json_array_append_new(instances, status_instance_to_json(&instance));
        }
        return instances;
}

static json_t *steps_to_json(Arena *arena, const Plan *plan) {
        PlanSteps steps = plan_steps(arena, plan);
        json_t *array = json_array();

        VEC_FOREACH(step, &steps)
                json_array_append_new(
                        array,
                        json_pack("{si so so so so}", "node", (int) step->pool->node,
                                  "pageSizeBytes", count_to_json(step->pool->page_size_bytes),
                                  "from", count_to_json(step->from_pages), "to",
                                  count_to_json(step->to_pages), "demoteToBytes",
                                  step->demote_to_bytes > 0 ? count_to_json(step->demote_to_bytes)
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
                json_array_append_new(exposures, json_pack("{ss so so so ss? so}", "unit",
                                                           exposure->unit, "pageSizeBytes",
                                                           count_to_json(exposure->page_size_bytes),
                                                           "pages", count_to_json(exposure->pages),
                                                           "nodes", ids_to_json(&exposure->nodes),
                                                           "taker", exposure->taker, "takerPages",
                                                           count_to_json(exposure->taker_pages)));
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

static bool hold_from_json(Arena *arena, const json_t *json, StatusHold *ret) {
        *ret = (StatusHold){
                .instance = text_from_json(arena, json, "instance"),
                .unit = text_from_json(arena, json, "unit"),
                .page_size_bytes = count_from_json(json, "pageSizeBytes"),
                .pages = count_from_json(json, "pages"),
        };
        ret->nodes = node_pages_from_json(arena, json_object_get(json, "nodes"), &ret->n_nodes);
        return ret->instance && ret->unit;
}

static StatusReserved reserved_from_json(Arena *arena, const json_t *json) {
        const json_t *nodes = json_object_get(json, "nodes");
        StatusReserved reserved = {
                .unit = text_from_json(arena, json, "unit"),
                .instance = text_from_json(arena, json, "instance"),
                .page_size_bytes = count_from_json(json, "pageSizeBytes"),
                .pages = count_from_json(json, "pages"),
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
                .name = text_from_json(arena, json, "name"),
                .engine = text_from_json(arena, json, "engine"),
                .unit = text_from_json(arena, json, "unit"),
                .file = text_from_json(arena, json, "file"),
                .page_size_bytes = count_from_json(json, "pageSizeBytes"),
                .pages_wanted = count_from_json(json, "pagesWanted"),
                .pages_granted = count_from_json(json, "pagesGranted"),
                .priority = (unsigned) count_from_json(json, "priority"),
                .shortage = text_equals(text_from_json(arena, json, "shortage"), "degrade")
                                    ? SHORTAGE_DEGRADE
                                    : SHORTAGE_REFUSE,
                .reason = {.text = text_from_json(arena, json, "reason"),
                           .remedy = text_from_json(arena, json, "remedy")},
                .fingerprint = text_from_json(arena, json, "configuration"),
        };

        if (!instance.name ||
            verdict_from_name(text_from_json(arena, json, "verdict"), &instance.verdict) < 0)
                return -EPROTO;
        reason_from_id(text_from_json(arena, json, "reasonId"), &instance.reason.kind);
        instance.is_running = json_is_true(json_object_get(json, "running"));
        StatusHold until;

        if (hold_from_json(arena, json_object_get(json, "untilRestart"), &until))
                instance.until_restart = arena_memdup(arena, &until, sizeof(until));
        instance.nodes =
                node_pages_from_json(arena, json_object_get(json, "nodes"), &instance.n_nodes);
        *ret = instance;
        return 0;
}

static StatusPool pool_from_json(const json_t *json) {
        return (StatusPool){
                .node = (unsigned) count_from_json(json, "node"),
                .page_size_bytes = count_from_json(json, "pageSizeBytes"),
                .total_pages = count_from_json(json, "total"),
                .free_pages = count_from_json(json, "free"),
                .surplus_pages = count_from_json(json, "surplus"),
                .foreign_pages = count_from_json(json, "foreign"),
                .owned_pages = count_from_json(json, "owned"),
        };
}

Diags problems_from_json(Arena *arena, const json_t *json) {
        Diags problems = diags_in(arena);

        for (size_t i = 0; i < json_array_size(json); i++) {
                const json_t *item = json_array_get(json, i);
                Diag problem = {
                        .severity = SEVERITY_ERROR,
                        .id = text_from_json(arena, item, "id"),
                        .file = text_from_json(arena, item, "file"),
                        .line = (unsigned) count_from_json(item, "line"),
                        .key = text_from_json(arena, item, "key"),
                        .text = text_from_json(arena, item, "text"),
                        .remedy = text_from_json(arena, item, "remedy"),
                };

                severity_from_name(text_from_json(arena, item, "severity"), &problem.severity);
                if (problem.text)
                        diags_add(&problems, &problem);
        }
        return problems;
}

static const PageUsers *page_users_from_json(Arena *arena, const json_t *json) {
        PageUsers *page_users = json_is_array(json) ? ARENA_NEW(arena, PageUsers) : NULL;
        PageUser page_user;

        for (size_t i = 0; page_users && i < json_array_size(json); i++)
                if (page_user_from_json(arena, json_array_get(json, i), &page_user) == 0)
                        *vec_push(arena, &page_users->list) = page_user;
        return page_users;
}

Status *status_from_json(Arena *arena, const json_t *json) {
        const json_t *host = json_object_get(json, "host");
        const json_t *pools = json_object_get(json, "pools");
        const json_t *instances = json_object_get(json, "instances");
        const json_t *problems = json_object_get(json, "problems");
        const json_t *attempts = json_object_get(json, "attempts");
        Status *status = ARENA_NEW(arena, Status);
        Attempt attempt;

        if (!json_is_array(pools) || !json_is_array(instances) || !json_is_array(problems) ||
            verdict_from_name(text_from_json(arena, host, "verdict"), &status->verdict) < 0)
                return NULL;
        status->thp = text_from_json(arena, host, "transparentHugePages");
        status->phase = text_from_json(arena, host, "phase");
        status->boot_id = text_from_json(arena, host, "bootId");
        status->fingerprint = text_from_json(arena, host, "configuration");
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
        for (size_t i = 0; i < json_array_size(attempts); i++)
                if (attempt_from_json(json_array_get(attempts, i), &attempt) == 0)
                        *vec_push(arena, &status->attempts) = attempt;
        status->page_users = page_users_from_json(arena, json_object_get(json, "pageUsers"));
        return status;
}
