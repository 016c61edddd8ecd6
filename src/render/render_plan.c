/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/views.h"

#include "base/size.h"
#include "base/table.h"
#include "base/text.h"

/* Returns "+500" or "-"; "-1 +1" for a pool that has pages demoted and grows too. */
static const char *format_pool_steps(Arena *arena, const PlanSteps *steps, const PlanPool *pool) {
        Text text = text_in(arena);

        VEC_FOREACH(step, steps) {
                bool is_growing = step->to_pages > step->from_pages;

                if (step->pool == pool)
                        text_printf(&text, "%s%c%s", text.length > 0 ? " " : "",
                                    is_growing ? '+' : '-',
                                    format_count(arena,
                                                 is_growing ? step->to_pages - step->from_pages
                                                            : step->from_pages - step->to_pages));
        }
        return text.length > 0 ? text.string : "-";
}

static void add_plan_steps(Text *text, const Plan *plan, const RenderOptions *options) {
        Arena *arena = text->arena;
        bool has_cover = plan->covers.n > 0;
        Table *table = table_new(
                arena, has_cover ? ">NODE|>PAGE|>EXISTING|>TAKEN|>WANTED|>COVER|>FROM|>TO|>STEP"
                                 : ">NODE|>PAGE|>EXISTING|>TAKEN|>WANTED|>FROM|>TO|>STEP");
        PlanSteps steps = plan_steps(arena, plan);

        ARRAY_FOREACH(pool, plan->pools, plan->n_pools) {
                if (pool->from_pages == 0 && pool->to_pages == 0)
                        continue;
                table_printf(table, "%u", pool->node);
                table_add(table, format_page_size(arena, pool->page_size_bytes));
                table_add(table, format_count(arena, pool->found_pages));
                table_add(table, format_count(arena, pool->others_pages));
                table_add(table, format_count(arena, pool->granted_pages));
                if (has_cover)
                        table_add(table, format_count(arena, pool->cover_pages));
                table_add(table, format_count(arena, pool->from_pages));
                table_add(table, format_count(arena, pool->to_pages));
                table_add(table, format_pool_steps(arena, &steps, pool));
        }
        render_table(text, options, table, "No pool has or gets any pages.\n");
        render_covers(text, options, &plan->covers);
        VEC_FOREACH(step, &steps) {
                uint64_t pages = step->from_pages - step->to_pages;

                if (step->demote_to_bytes > 0)
                        text_printf(
                                text, "Node %u: existing pages are demoted to pages of %s: %s.\n",
                                step->pool->node, format_page_size(arena, step->demote_to_bytes),
                                format_page_count(arena, pages, step->pool->page_size_bytes));
        }
}

static void add_plan_instances(Text *text, const Plan *plan, const RenderOptions *options) {
        Arena *arena = text->arena;
        Table *table = table_new(arena, "VERDICT|INSTANCE|>SIZE|>PAGES|>OF|NODES|>TABLES SAVED");

        ARRAY_FOREACH(planned, plan->instances, plan->n_instances) {
                const StatusInstance instance = status_planned(planned);

                render_add_instance(table, arena, &instance);
                table_add(table, render_nodes(arena, &instance.nodes));
                uint64_t tables_bytes = planned->pages_granted > 0
                                                ? page_tables_bytes(plan_wanted_bytes(planned),
                                                                    plan->base_page_bytes)
                                                : 0;

                table_add(table, tables_bytes > 0 ? format_size(arena, tables_bytes) : "-");
        }
        if (table_rows(table) > 0)
                table_print(table, text, "", options->is_colored);
}

char *render_plan(Arena *arena, const Plan *plan, const HostPlan *host, const Config *config,
                  const RenderOptions *options) {
        Text text = text_in(arena);
        size_t n_steps = plan_count_changed(plan);

        if (plan->n_instances == 0)
                text_add(&text, "No instances are described in /etc/hugeplan.d.\n");
        if (n_steps > 0)
                text_printf(&text, "%zu %s to be changed. Nothing was written.\n%s", n_steps,
                            n_steps == 1 ? "pool is" : "pools are",
                            plan->n_instances > 0 ? "\n" : "");
        else if (plan->n_instances > 0)
                text_add(
                        &text,
                        host->writes.n > 0 ? "No pool is to be changed. Nothing was written.\n\n"
                        : ARRAY_ANY(each, plan->instances, plan->n_instances,
                                    plan_reason(each)->kind != REASON_NONE)
                                ? "Nothing can be changed, though not every instance is served.\n\n"
                                : "The host matches the plan: nothing to do.\n\n");
        add_plan_instances(&text, plan, options);
        /* Without instances, pages of the last one may still have to be given back. */
        if (plan->n_instances > 0 || n_steps > 0)
                add_plan_steps(&text, plan, options);
        if (host->writes.n > 0)
                text_add(&text, "\n");
        VEC_FOREACH(write, &host->writes)
                text_printf(&text, "%s is to be set to '%s'.\n", write->path, write->value);
        if (plan->n_instances > 0) {
                text_printf(&text,
                            "\n%s of memory stays free for the host (KeepFree=%s of each node).\n",
                            format_size(arena, plan->keep_free_bytes),
                            amount_format(arena, &config->host.keep_free));
                if (ARRAY_ANY(planned, plan->instances, plan->n_instances,
                              !planned->demand->config->refusal &&
                                      planned->demand->config->memory_kind == MEMORY_AUTO))
                        text_printf(
                                &text,
                                "At most %s may be used for learned sizes (AutoMemory=%s of each node).\n",
                                format_size(arena, plan->auto_bytes),
                                amount_format(arena, &config->host.auto_memory));
                text_add(
                        &text,
                        "TABLES SAVED: page tables per session that touches all of the segment.\n");
        }
        ARRAY_FOREACH(planned, plan->instances, plan->n_instances) {
                const Reason *reason = plan_reason(planned);

                /* Mistakes are printed with the other problems of the files. */
                if (reason->kind == REASON_NONE || reason->kind == REASON_CONFIG)
                        continue;
                text_add(&text, "\n");
                render_paragraph(&text, options,
                                 arena_printf(arena, "%s: ", planned->demand->config->name), "    ",
                                 reason->text);
                render_paragraph(&text, options, "    what to do: ", "    ", reason->remedy);
        }
        return text.string;
}
