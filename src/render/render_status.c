/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/render_status.h"

#include "base/size.h"
#include "base/table.h"
#include "base/text.h"

static void add_headline(Text *text, const Status *status, const RenderOptions *options) {
        Arena *arena = text->arena;
        size_t n_start = 0;

        for (size_t i = 0; i < status->n_instances; i++)
                n_start += verdict_lets_start(status->instances[i].verdict);
        render_colored(text, options, render_verdict_look(status->verdict)->color,
                       arena_printf(arena, "%s %s", render_verdict_look(status->verdict)->mark,
                                    verdict_name(status->verdict)));
        if (status->n_instances == 0)
                text_add(text, "  no instances are described in /etc/hugeplan.d");
        else
                text_printf(text, "  %zu of %zu %s may start", n_start, status->n_instances,
                            status->n_instances == 1 ? "instance" : "instances");
        text_printf(text, "; transparent huge pages: %s", status->thp ? status->thp : "none");
        if (!text_equals(status->phase, "idle"))
                text_printf(text, "; %s", status->phase);
        text_add(text, "\n");
}

static void add_instances(Text *text, const Status *status, const RenderOptions *options) {
        Arena *arena = text->arena;
        Table *table = table_new(arena, "VERDICT|INSTANCE|>SIZE|>PAGES|>OF|NODES|UNIT");

        for (size_t i = 0; i < status->n_instances; i++) {
                const StatusInstance *instance = &status->instances[i];

                render_add_instance(table, arena, instance->verdict, instance->name,
                                    instance->pages_granted, instance->pages_wanted,
                                    instance->page_size_bytes);
                table_add(table,
                          arena_printf(arena, "%s%s",
                                       render_nodes(arena, instance->nodes, instance->n_nodes),
                                       instance->until_restart ? " (from its next start on)" : ""));
                table_add(table, instance->unit);
        }
        if (table_rows(table) == 0)
                return;
        text_add(text, "\n");
        table_print(table, text, "", options->is_colored);
}

static void add_pools(Text *text, const Status *status, const RenderOptions *options) {
        Arena *arena = text->arena;
        Table *table = table_new(arena, ">NODE|>PAGE|>TOTAL|>FREE|>OURS|>OTHERS|>SURPLUS|>MEMORY");

        for (size_t i = 0; i < status->n_pools; i++) {
                const StatusPool *pool = &status->pools[i];
                bool is_used_size = false;

                for (size_t k = 0; k < status->n_pools; k++)
                        is_used_size = is_used_size ||
                                       (status->pools[k].page_size_bytes == pool->page_size_bytes &&
                                        status->pools[k].total_pages > 0);
                if (!is_used_size)
                        continue;
                table_printf(table, "%u", pool->node);
                table_add(table, format_page_size(arena, pool->page_size_bytes));
                table_add(table, format_count(arena, pool->total_pages));
                table_add(table, format_count(arena, pool->free_pages));
                table_add(table, format_count(arena, pool->owned_pages));
                table_add(table, format_count(arena, pool->foreign_pages));
                table_add(table, format_count(arena, pool->surplus_pages));
                table_add(table, render_size(arena, pool->total_pages, pool->page_size_bytes));
        }
        text_add(text, "\n");
        if (table_rows(table) == 0)
                text_add(text, status->n_pools > 0 ? "All huge page pools are empty.\n"
                                                   : "This kernel has no huge pages.\n");
        else
                table_print(table, text, "", options->is_colored);
}

/* The kernel counts them for the whole host: a table of their own. */
static void add_reserved(Text *text, const Status *status) {
        Arena *arena = text->arena;

        if (status->reserved.n > 0)
                text_add(text, "\n");
        VEC_FOREACH(reserved, &status->reserved)
                text_printf(text, "Reserved and not touched yet: %s pages of %s %sby %s%s%s.\n",
                            format_count(arena, reserved->pages),
                            format_page_size(arena, reserved->page_size_bytes),
                            reserved->is_likely ? "likely " : "",
                            reserved->unit       ? reserved->unit
                            : reserved->instance ? reserved->instance
                                                 : "others",
                            id_set_is_empty(&reserved->nodes)     ? ""
                            : id_set_count(&reserved->nodes) == 1 ? ", on node "
                                                                  : ", on nodes ",
                            id_set_format(arena, &reserved->nodes));
}

static void add_page_user(Table *table, Arena *arena, const Status *status,
                          const PageUser *page_user) {
        const StatusInstance *instance = status_find_unit(status, page_user->unit);

        table_add(table, page_user->unit       ? page_user->unit
                         : page_user->pid == 0 ? page_user->command
                                               : NULL);
        table_add(table,
                  page_user->pid > 0 ? arena_printf(arena, "%" PRIu64, page_user->pid) : NULL);
        table_add(table, page_user->pid > 0 ? page_user->command : NULL);
        /* "198+" where there may be more; "-" where pages cannot be told from bytes. */
        table_add(table,
                  page_user->page_size_bytes == 0
                          ? "-"
                          : arena_printf(arena, "%s%s", format_count(arena, page_user->pages),
                                         page_user->is_lower_bound ? "+" : ""));
        table_add(table, page_user->mapped_pages > 0 ? format_count(arena, page_user->mapped_pages)
                                                     : NULL);
        table_add(table, page_user->page_size_bytes > 0
                                 ? format_page_size(arena, page_user->page_size_bytes)
                                 : NULL);
        table_add(table, format_size(arena, page_user_kept_bytes(page_user)));
        table_add(table, render_nodes(arena, page_user->nodes, page_user->n_nodes));
        table_add(table, instance ? instance->name : NULL);
}

static void add_page_users(Text *text, const Status *status, const RenderOptions *options) {
        Table *table = table_new(text->arena,
                                 "USED BY|>PID|COMMAND|>PAGES|>MAPPED|>OF|>SIZE|NODES|INSTANCE");

        if (!status->page_users || status->page_users->list.n == 0)
                return;
        VEC_FOREACH(page_user, &status->page_users->list)
                add_page_user(table, text->arena, status, page_user);
        text_add(text, "\n");
        table_print(table, text, "", options->is_colored);
}

char *render_status(Arena *arena, const Status *status, const RenderOptions *options) {
        Text text = text_in(arena);

        add_headline(&text, status, options);
        add_instances(&text, status, options);
        add_pools(&text, status, options);
        add_reserved(&text, status);
        add_page_users(&text, status, options);
        if (status->problems.list.n > 0) {
                text_add(&text, "\n");
                text_add(&text, render_problems(arena, &status->problems, options));
        }
        return text.string;
}

static void add_field(Text *text, const char *label, const char *value) {
        text_printf(text, "%10s%c %s\n", label, *label ? ':' : ' ', value);
}

/* What was done for the pools that serve the instance. */
static void add_attempts(Text *text, const Status *status, const StatusInstance *instance) {
        bool is_first = true;

        VEC_FOREACH(attempt, &status->attempts) {
                bool is_there = instance->n_nodes == 0;

                for (size_t i = 0; i < instance->n_nodes; i++)
                        is_there = is_there || instance->nodes[i].node == attempt->node;
                if (!is_there || attempt->page_size_bytes != instance->page_size_bytes)
                        continue;
                add_field(text, is_first ? "Done" : "", attempt_format(text->arena, attempt));
                is_first = false;
        }
}

/* What its own unit holds. */
static void add_held(Text *text, const Status *status, const StatusInstance *instance) {
        bool is_first = true;

        if (!status->page_users || !instance->unit || instance->pages_wanted == 0)
                return;
        VEC_FOREACH(page_user, &status->page_users->list) {
                if (!text_equals(page_user->unit, instance->unit))
                        continue;
                add_field(text, is_first ? "Used by" : "",
                          page_user_format_use(text->arena, page_user));
                is_first = false;
        }
        if (is_first)
                add_field(text, "Used by",
                          status->page_users->is_complete ? "not mapped yet"
                                                          : "no page in use yet");
}

char *render_status_instance(Arena *arena, const Status *status, const StatusInstance *instance,
                             const RenderOptions *options) {
        Text text = text_in(arena);

        render_colored(&text, options, render_verdict_look(instance->verdict)->color,
                       arena_printf(arena, "%s %s", render_verdict_look(instance->verdict)->mark,
                                    verdict_name(instance->verdict)));
        text_add(&text, "  ");
        render_colored(&text, options, RENDER_BOLD, instance->name);
        text_add(&text, "\n");
        add_field(&text, "Unit", instance->unit ? instance->unit : "none waits for it");
        add_field(&text, "Engine", instance->engine ? instance->engine : "-");
        add_field(&text, "File", instance->file ? instance->file : "-");
        if (instance->pages_wanted > 0) {
                add_field(&text, "Pages",
                          arena_printf(arena, "%s of %s (%s)",
                                       render_granted(arena, instance->pages_granted,
                                                      instance->pages_wanted),
                                       format_page_size(arena, instance->page_size_bytes),
                                       render_size(arena, instance->pages_wanted,
                                                   instance->page_size_bytes)));
                add_field(&text, "Nodes", render_nodes(arena, instance->nodes, instance->n_nodes));
        }
        if (instance->until_restart)
                add_field(&text, "Runs with",
                          arena_printf(
                                  arena, "%s of %s on nodes %s, until %s is restarted",
                                  format_count(arena, instance->until_restart->pages),
                                  format_page_size(arena, instance->until_restart->page_size_bytes),
                                  render_nodes(arena, instance->until_restart->nodes,
                                               instance->until_restart->n_nodes),
                                  instance->until_restart->unit));
        add_held(&text, status, instance);
        add_field(&text, "Priority",
                  arena_printf(arena, "%u, Shortage=%s", instance->priority,
                               shortage_name(instance->shortage)));
        if (instance->reason.text)
                text_add_wrapped(&text, "    Reason: ", "            ", instance->reason.text,
                                 render_width(options));
        if (instance->reason.remedy)
                text_add_wrapped(&text, "What to do: ", "            ", instance->reason.remedy,
                                 render_width(options));
        add_attempts(&text, status, instance);
        return text.string;
}

char *render_verdict(Arena *arena, const StatusInstance *instance) {
        Text text = text_in(arena);

        text_printf(&text, "%s: %s", instance->name, verdict_name(instance->verdict));
        if (instance->pages_wanted > 0 && !instance->reason.text)
                text_printf(&text, ": %s pages of %s (%s)",
                            render_granted(arena, instance->pages_granted, instance->pages_wanted),
                            format_page_size(arena, instance->page_size_bytes),
                            render_size(arena, instance->pages_wanted, instance->page_size_bytes));
        if (instance->n_nodes > 0 && !instance->reason.text)
                text_printf(&text, " on nodes %s",
                            render_nodes(arena, instance->nodes, instance->n_nodes));
        if (instance->reason.text)
                text_printf(&text, ": %s", instance->reason.text);
        if (instance->reason.remedy)
                text_printf(&text, "; %s", instance->reason.remedy);
        return text.string;
}
