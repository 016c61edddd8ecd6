/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/report/report.h"

#include "base/text.h"

enum { NAMES_MAX = 3, MISSING_MAX = 8 };

char *report_names(Arena *arena, const SourceNames *names) {
        size_t n_shown = names->n > NAMES_MAX + 1 ? NAMES_MAX : names->n;
        Text text = text_in(arena);

        for (size_t i = 0; i < n_shown; i++)
                text_add_item(&text, names->items[i]);
        if (n_shown < names->n)
                text_printf(&text, " and %zu more", names->n - n_shown);
        return arena_strdup(arena, text_string(&text));
}

/* ---- pools and nodes ---- */

static HistoryNumber pages_before(const ReportInput *input, const StatusPool *pool) {
        const LedgerPool *known =
                input->no_before ? NULL
                                 : ledger_pool(input->ledger, pool->node, pool->page_size_bytes);

        return known ? HISTORY_NUMBER(known->found_pages) : (HistoryNumber){};
}

/* Whether any node has pages of POOL's size, or had some. */
static bool is_used_size(const ReportInput *input, const StatusPool *pool) {
        const Status *status = input->status;

        return ARRAY_ANY(each, status->pools, status->n_pools,
                         each->page_size_bytes == pool->page_size_bytes &&
                                 (each->total_pages > 0 || pages_before(input, each).value > 0));
}

static void add_pool(Arena *arena, Report *report, const StatusPool *pool) {
        const HistoryNumber before = pages_before(report->input, pool);
        ReportNode *node = VEC_FIND(each, &report->nodes, each->id == pool->node);
        uint64_t size = pool->page_size_bytes;

        *vec_push(arena, &report->pools) = (ReportPool){.now = pool, .before_pages = before};
        if (!node) /* it has come since */
                return;
        node->before_bytes = add_saturated(node->before_bytes, mul_saturated(before.value, size));
        node->instances_bytes = add_saturated(
                node->instances_bytes, mul_saturated(pool->owned_pages + pool->cover_pages, size));
        node->others_bytes =
                add_saturated(node->others_bytes, mul_saturated(pool->foreign_pages, size));
        node->used_bytes = add_saturated(
                node->used_bytes,
                mul_saturated(sub_floored(pool->total_pages, pool->free_pages), size));
}

static void add_pools(Arena *arena, Report *report) {
        const ReportInput *input = report->input;

        ARRAY_FOREACH(node, input->topology->nodes, input->topology->n_nodes)
                if (node->has_memory)
                        *vec_push(arena, &report->nodes) =
                                (ReportNode){.id = node->id, .memory_bytes = node->memory_bytes};
        ARRAY_FOREACH(pool, input->status->pools, input->status->n_pools)
                if (is_used_size(input, pool))
                        add_pool(arena, report, pool);
        report->memory_bytes = VEC_SUM(node, &report->nodes, node->memory_bytes);
        report->before_bytes = VEC_SUM(node, &report->nodes, node->before_bytes);
        report->used_bytes = VEC_SUM(node, &report->nodes, node->used_bytes);
        report->now_bytes = VEC_SUM(node, &report->nodes,
                                    add_saturated(node->instances_bytes, node->others_bytes));
}

/* ---- instances ---- */

/* Of the page size that it was planned with. */
static const Sizing *sizing_of(const ReportInput *input, const StatusInstance *instance) {
        const PlanInstance *planned = plan_find(input->plan, instance->name);
        const DemandOption *option =
                planned ? ARRAY_FIND(each, planned->demand->options, planned->demand->n_options,
                                     each->page_size_bytes == instance->page_size_bytes)
                        : NULL;

        return option ? &option->sizing : NULL;
}

/* What the database itself is told, where its size rests on that. */
static const Setting *setting_of(const ReportInput *input, const InstanceConfig *config) {
        if (!config || config->refusal || config->memory_kind != MEMORY_AUTO ||
            !config->engine->memory_setting)
                return NULL;
        const Figure *figure = VEC_FIND(
                each, input->figures, text_equals(each->instance, config->name) && each->gathered);

        return figure ? settings_find(&figure->gathered->settings, config->engine->memory_setting)
                      : NULL;
}

static void add_instances(Arena *arena, Report *report) {
        const ReportInput *input = report->input;
        VEC(ReportInstance) fine = {};

        ARRAY_FOREACH(instance, input->status->instances, input->status->n_instances) {
                const InstanceConfig *config = config_find(input->config, instance->name);
                const Proof *proof = VEC_FIND(each, &input->proofs->list,
                                              text_equals(each->instance->name, instance->name));
                const ReportInstance row = {
                        .status = instance,
                        .config = config,
                        .proof = proof,
                        .sizing = sizing_of(input, instance),
                        .setting = setting_of(input, config),
                        .is_fine = instance->verdict == VERDICT_READY &&
                                   (!proof || proof->is_as_planned),
                };

                if (row.is_fine)
                        *vec_push(arena, &fine) = row;
                else
                        *vec_push(arena, &report->instances) = row;
        }
        vec_push_all(arena, &report->instances, &fine);
}

/* ---- what it saves, and what is wasted ---- */

static void add_tables(Report *report) {
        ReportTables *tables = &report->tables;

        VEC_FOREACH(proof, &report->input->proofs->list) {
                uint64_t bytes = proof->look->page_table_bytes, small = proof->small_tables_bytes;

                if (bytes == 0)
                        continue;
                tables->n++;
                tables->bytes = add_saturated(tables->bytes, bytes);
                tables->small_bytes = add_saturated(tables->small_bytes, small);
                /* Of servers with threads, all sessions use one and the same. */
                tables->worst_bytes =
                        add_saturated(tables->worst_bytes, MAX(small, proof->worst_tables_bytes));
                if (proof->outcome == OUTCOME_IN_USE || proof->outcome == OUTCOME_IDLE)
                        tables->saved_bytes =
                                add_saturated(tables->saved_bytes, sub_floored(small, bytes));
        }
}

/* ---- what is not known ---- */

static void leave_out(Arena *arena, Report *report, const char *what, const char *why) {
        *vec_push(arena, &report->left_out) = arena_printf(arena, "%s: %s", what, why);
}

static void add_left_out(Arena *arena, Report *report) {
        const ReportInput *input = report->input;
        size_t n_missing = 0;

        if (!input->host)
                leave_out(arena, report, "The host's name", "it cannot be read");
        if (!input->when)
                leave_out(arena, report, "Date and time",
                          "this is a captured host, which does not tell when it was captured");
        if (input->no_before)
                leave_out(arena, report, "What there was before", input->no_before);
        if (input->no_history)
                leave_out(arena, report, "History", input->no_history);
        VEC_FOREACH(proof, &input->proofs->list) {
                /* Of those that cannot be judged it is among the findings. */
                if (proof->outcome == OUTCOME_UNKNOWN)
                        continue;
                VEC_FOREACH(missing, &proof->look->missing)
                        if (n_missing++ < MISSING_MAX)
                                leave_out(arena, report, proof->instance->name, *missing);
        }
        if (n_missing > MISSING_MAX)
                leave_out(arena, report, "More of this kind",
                          arena_printf(arena,
                                       "%zu; 'hugeplanctl verify NAME' has all of an instance",
                                       n_missing - MISSING_MAX));
}

Report *report_make(Arena *arena, const ReportInput *input) {
        Report *report = ARENA_NEW(arena, Report);

        report->input = input;
        add_pools(arena, report);
        add_instances(arena, report);
        add_tables(report);
        report->wasted_bytes = VEC_SUM(row, &input->proofs->waste,
                                       mul_saturated(row->pages, row->page_size_bytes));
        report_add_findings(arena, report);
        report_judge(arena, report);
        add_left_out(arena, report);
        return report;
}
