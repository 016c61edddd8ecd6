/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/status_json.h"

#include "base/json.h"
#include "base/text.h"
#include "config/config.h"
#include "status/json_value.h"

static json_t *hold_to_json(const StatusHold *hold) {
        return json_pack("{ss ss so so so}", "instance", hold->instance, "unit", hold->unit,
                         "pageSizeBytes", count_to_json(hold->page_size_bytes), "pages",
                         count_to_json(hold->pages), "nodes", node_pages_to_json(&hold->nodes));
}

static json_t *ids_to_json(const IdSet *ids) {
        json_t *array = json_array();

        ID_SET_FOREACH(id, ids)
                json_array_append_new(array, json_integer(id));
        return array;
}

json_t *status_instance_to_json(const StatusInstance *instance) {
        const Reason *reason = &instance->reason;
        return json_pack("{ss ss? ss? ss? ss so so so so si ss sb sb sb so ss? ss? ss? ss* ss*}",
                         "name", instance->name, "engine", instance->engine, "unit", instance->unit,
                         "file", instance->file, "verdict", verdict_name(instance->verdict),
                         "pageSizeBytes", known_to_json(instance->page_size_bytes), "pagesWanted",
                         count_to_json(instance->pages_wanted), "pagesGranted",
                         count_to_json(instance->pages_granted), "nodes",
                         node_pages_to_json(&instance->nodes), "priority", (int) instance->priority,
                         "shortage", shortage_names[instance->shortage], "running",
                         instance->is_running, "letStart", instance->was_let_start, "counted",
                         instance->is_counted, "untilRestart",
                         instance->until_restart ? hold_to_json(instance->until_restart)
                                                 : json_null(),
                         "reason", reason->text, "reasonId",
                         reason->kind == REASON_NONE ? NULL : reason_id(reason->kind), "remedy",
                         reason->remedy, "configuration", instance->fingerprint, "outcome",
                         instance->outcome);
}

static void add_nodes(Text *row, const PagesByNode *nodes) {
        VEC_FOREACH(each, nodes)
                text_printf(row, "N%u=%" PRIu64 ",", each->node, each->pages);
}

/* Adds a row of the table of all instances, as described at Describe: a tenth of the work of an object. */
static void add_row(Text *rows, const StatusInstance *instance) {
        const StatusHold none = {}, *until = instance->until_restart ?: &none;

        text_printf(rows, "%s\t%s %" PRIu64 " %" PRIu64 " %" PRIu64 " ",
                    text_printable(rows->arena, instance->name), verdict_name(instance->verdict),
                    instance->page_size_bytes, instance->pages_wanted, instance->pages_granted);
        add_nodes(rows, &instance->nodes);
        if (instance->unit) {
                text_printf(rows, " %s %s %d %d %" PRIu64 " %" PRIu64 " ", instance->unit,
                            instance->engine, instance->was_let_start, instance->is_counted,
                            until->page_size_bytes, until->pages);
                add_nodes(rows, &until->nodes);
                text_printf(rows, " %s", text_printable(rows->arena, instance->file));
        }
        text_add(rows, "\n");
}

json_t *problem_to_json(const Diag *problem) {
        return json_pack("{ss? ss ss? so ss? ss ss?}", "id", problem->id, "severity",
                         severity_name(problem->severity), "file", problem->file, "line",
                         known_to_json(problem->line), "key", problem->key, "text", problem->text,
                         "remedy", problem->remedy);
}

json_t *problems_to_json(const Diags *problems) {
        return VEC_TO_JSON(problem, &problems->list, problem_to_json(problem));
}

static json_t *exposures_to_json(const Exposures *exposures) {
        return VEC_TO_JSON(exposure, exposures,
                           json_pack("{ss? so so so ss? so}", "unit", exposure->unit,
                                     "pageSizeBytes", count_to_json(exposure->page_size_bytes),
                                     "pages", count_to_json(exposure->pages), "nodes",
                                     ids_to_json(&exposure->nodes), "taker", exposure->taker,
                                     "takerPages", count_to_json(exposure->taker_pages)));
}

json_t *status_to_json(const Status *status, bool is_brief) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        json_t *pools = ARRAY_TO_JSON(
                pool, status->pools, status->n_pools,
                json_pack("{si so so so so so so so}", "node", (int) pool->node, "pageSizeBytes",
                          count_to_json(pool->page_size_bytes), "total",
                          count_to_json(pool->total_pages), "free", count_to_json(pool->free_pages),
                          "surplus", count_to_json(pool->surplus_pages), "foreign",
                          count_to_json(pool->foreign_pages), "owned",
                          count_to_json(pool->owned_pages), "cover",
                          count_to_json(pool->cover_pages)));
        json_t *reserved = VEC_TO_JSON(
                part, &status->reserved,
                json_pack(is_brief ? "{ss* ss* so so so* so*}" : "{ss? ss? so so so? so}", "unit",
                          part->unit, "instance", part->instance, "pageSizeBytes",
                          count_to_json(part->page_size_bytes), "pages", count_to_json(part->pages),
                          "nodes", id_set_is_empty(&part->nodes) ? NULL : ids_to_json(&part->nodes),
                          "likely",
                          is_brief && !part->is_likely ? NULL : json_boolean(part->is_likely)));
        Text rows = text_in(arena);

        ARRAY_FOREACH(instance, status->instances, is_brief ? status->n_instances : 0)
                add_row(&rows, instance);
        return json_pack(
                "{s{ss ss? ss* ss? ss ss*} so so so so so ss* so so}", "host", "verdict",
                verdict_name(status->verdict), "transparentHugePages", status->thp, "bootId",
                status->boot_id && *status->boot_id && !is_brief ? status->boot_id : NULL, "phase",
                status->phase, "version", HUGEPLAN_VERSION, "configuration",
                is_brief ? NULL : status->fingerprint, "pools", pools, "reserved", reserved,
                "covers", exposures_to_json(&status->covers), "kept",
                VEC_TO_JSON(hold, &status->left, hold_to_json(hold)), "instances",
                ARRAY_TO_JSON(instance, status->instances, is_brief ? 0 : status->n_instances,
                              status_instance_to_json(instance)),
                "rows", rows.string, "problems", problems_to_json(&status->problems), "attempts",
                ARRAY_TO_JSON(attempt, status->attempts.items, is_brief ? 0 : status->attempts.n,
                              attempt_to_json(attempt)));
}

json_t *host_writes_to_json(const HostWrites *writes) {
        return VEC_TO_JSON(write, writes,
                           json_pack("{ss ss? ss}", "path", write->path, "before", write->before,
                                     "value", write->value));
}

json_t *plan_to_json(const Plan *plan, const HostPlan *host, const Diags *problems) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        PlanSteps steps = plan_steps(arena, plan);
        json_t *instances = json_array();

        ARRAY_FOREACH(planned, plan->instances, plan->n_instances) {
                const StatusInstance instance = status_planned(planned);

                json_array_append_new(instances, status_instance_to_json(&instance));
        }
        json_t *steps_json = VEC_TO_JSON(
                step, &steps,
                json_pack("{si so so so so}", "node", (int) step->pool->node, "pageSizeBytes",
                          count_to_json(step->pool->page_size_bytes), "from",
                          count_to_json(step->from_pages), "to", count_to_json(step->to_pages),
                          "demoteToBytes", known_to_json(step->demote_to_bytes)));

        return json_pack("{so so so so so so}", "instances", instances, "steps", steps_json,
                         "writes", host_writes_to_json(&host->writes), "exposures",
                         exposures_to_json(&plan->exposures), "covers",
                         exposures_to_json(&plan->covers), "problems", problems_to_json(problems));
}
