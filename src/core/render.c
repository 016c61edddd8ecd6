/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/render.h"

#include "base/size.h"
#include "base/table.h"
#include "base/text.h"

static const char color_good[] = "\033[32m";
static const char color_bad[] = "\033[31m";
static const char color_warn[] = "\033[33m";
static const char color_dim[] = "\033[2m";
static const char color_bold[] = "\033[1m";
static const char color_off[] = "\033[0m";

static const struct {
        const char *color;
        const char *mark;
} verdict_looks[] = {
        [VERDICT_READY] = {color_good, "●"},   [VERDICT_DEGRADED] = {color_warn, "●"},
        [VERDICT_PENDING] = {color_warn, "○"}, [VERDICT_REFUSED] = {color_bad, "×"},
        [VERDICT_INVALID] = {color_bad, "×"},  [VERDICT_LOST] = {color_bad, "×"},
};

static size_t width_of(const RenderOptions *options) {
        return options->width > 0 ? options->width : 100;
}

void render_colored(Text *text, const RenderOptions *options, const char *color,
                    const char *string) {
        if (options->is_colored)
                text_printf(text, "%s%s%s", color, string, color_off);
        else
                text_add(text, string);
}

static char *size_of_pages(Arena *arena, uint64_t pages, uint64_t page_size_bytes) {
        return pages == 0 ? arena_strdup(arena, "-")
                          : format_size(arena, mul_saturated(pages, page_size_bytes));
}

/* "0:541 1:540"; "-" for none. */
static char *format_nodes(Arena *arena, const NodePages *nodes, size_t n) {
        Text text = text_in(arena);

        for (size_t i = 0; i < n; i++)
                text_printf(&text, "%s%u:%s", i > 0 ? " " : "", nodes[i].node,
                            format_count(arena, nodes[i].pages));
        return arena_strdup(arena, n > 0 ? text_string(&text) : "-");
}

/* "1,081", or "40 of 1,081" when it is short. */
static char *format_granted(Arena *arena, uint64_t granted, uint64_t wanted) {
        if (wanted == 0)
                return arena_strdup(arena, "-");
        return granted == wanted ? format_count(arena, granted)
                                 : arena_printf(arena, "%s of %s", format_count(arena, granted),
                                                format_count(arena, wanted));
}

/* ---- status ---- */

static void add_headline(Text *text, const Status *status, const RenderOptions *options) {
        Arena *arena = text->arena;
        size_t n_start = 0;

        for (size_t i = 0; i < status->n_instances; i++)
                n_start += verdict_lets_start(status->instances[i].verdict);
        render_colored(text, options, verdict_looks[status->verdict].color,
                       arena_printf(arena, "%s %s", verdict_looks[status->verdict].mark,
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
        static const TableColumn columns[] = {
                {"VERDICT", TABLE_LEFT}, {"INSTANCE", TABLE_LEFT}, {"SIZE", TABLE_RIGHT},
                {"PAGES", TABLE_RIGHT},  {"OF", TABLE_RIGHT},      {"NODES", TABLE_LEFT},
                {"UNIT", TABLE_LEFT},
        };
        Arena *arena = text->arena;
        Table *table = table_new(arena, columns, ARRAY_LEN(columns));

        for (size_t i = 0; i < status->n_instances; i++) {
                const StatusInstance *instance = &status->instances[i];

                table_add_colored(table, verdict_name(instance->verdict),
                                  verdict_looks[instance->verdict].color);
                table_add(table, instance->name);
                table_add(table,
                          size_of_pages(arena, instance->pages_wanted, instance->page_size_bytes));
                table_add(table,
                          format_granted(arena, instance->pages_granted, instance->pages_wanted));
                table_add(table, instance->page_size_bytes
                                         ? format_page_size(arena, instance->page_size_bytes)
                                         : "-");
                table_add(table, format_nodes(arena, instance->nodes, instance->n_nodes));
                table_add(table, instance->unit);
        }
        if (table_rows(table) == 0)
                return;
        text_add(text, "\n");
        table_print(table, text, "", options->is_colored);
}

static bool is_pool_of_interest(const Status *status, const StatusPool *pool) {
        bool is_used_size = false;

        for (size_t i = 0; i < status->n_pools; i++)
                is_used_size = is_used_size ||
                               (status->pools[i].page_size_bytes == pool->page_size_bytes &&
                                status->pools[i].total_pages > 0);
        return is_used_size;
}

static void add_pools(Text *text, const Status *status, const RenderOptions *options) {
        static const TableColumn columns[] = {
                {"NODE", TABLE_RIGHT},   {"PAGE", TABLE_RIGHT},     {"TOTAL", TABLE_RIGHT},
                {"FREE", TABLE_RIGHT},   {"PROMISED", TABLE_RIGHT}, {"OURS", TABLE_RIGHT},
                {"OTHERS", TABLE_RIGHT}, {"SURPLUS", TABLE_RIGHT},  {"MEMORY", TABLE_RIGHT},
        };
        Arena *arena = text->arena;
        Table *table = table_new(arena, columns, ARRAY_LEN(columns));

        for (size_t i = 0; i < status->n_pools; i++) {
                const StatusPool *pool = &status->pools[i];

                if (!is_pool_of_interest(status, pool))
                        continue;
                table_printf(table, "%u", pool->node);
                table_add(table, format_page_size(arena, pool->page_size_bytes));
                table_add(table, format_count(arena, pool->total_pages));
                table_add(table, format_count(arena, pool->free_pages));
                table_add(table, format_count(arena, pool->promised_pages));
                table_add(table, format_count(arena, pool->owned_pages));
                table_add(table, format_count(arena, pool->foreign_pages));
                table_add(table, format_count(arena, pool->surplus_pages));
                table_add(table, size_of_pages(arena, pool->total_pages, pool->page_size_bytes));
        }
        text_add(text, "\n");
        if (table_rows(table) == 0)
                text_add(text, status->n_pools > 0 ? "All huge page pools are empty.\n"
                                                   : "This kernel has no huge pages.\n");
        else
                table_print(table, text, "", options->is_colored);
}

static void add_problem(Text *text, const Diag *problem, const RenderOptions *options) {
        static const char *const colors[] = {
                [SEVERITY_ERROR] = color_bad,
                [SEVERITY_WARNING] = color_warn,
                [SEVERITY_NOTICE] = color_dim,
        };
        Diag shown = *problem;

        shown.remedy = NULL;
        render_colored(text, options, colors[problem->severity], severity_name(problem->severity));
        text_add_wrapped(text, ": ", "       ", diag_format(text->arena, &shown),
                         width_of(options));
        if (problem->remedy)
                text_add_wrapped(text, "       what to do: ", "       ", problem->remedy,
                                 width_of(options));
}

char *render_problems(Arena *arena, const Diags *problems, const RenderOptions *options) {
        Text text = text_in(arena);

        for (int severity = SEVERITY_ERROR; severity <= SEVERITY_NOTICE; severity++)
                VEC_FOREACH(problem, &problems->list)
                        if ((int) problem->severity == severity)
                                add_problem(&text, problem, options);
        return arena_strdup(arena, text_string(&text));
}

/* "198", "198+" where there may be more; "-" where pages cannot be told from bytes. */
static char *format_held(Arena *arena, const Holder *holder) {
        return holder->page_size_bytes == 0
                       ? arena_strdup(arena, "-")
                       : arena_printf(arena, "%s%s", format_count(arena, holder->pages),
                                      holder->is_lower_bound ? "+" : "");
}

static void add_holder(Table *table, Arena *arena, const Status *status, const Holder *holder) {
        const StatusInstance *instance = status_find_unit(status, holder->unit);

        table_add(table, holder->unit ? holder->unit : holder->pid == 0 ? holder->command : NULL);
        table_add(table, holder->pid > 0 ? arena_printf(arena, "%" PRIu64, holder->pid) : NULL);
        table_add(table, holder->pid > 0 ? holder->command : NULL);
        table_add(table, format_held(arena, holder));
        table_add(table,
                  holder->mapped_pages > 0 ? format_count(arena, holder->mapped_pages) : NULL);
        table_add(table, holder->page_size_bytes > 0
                                 ? format_page_size(arena, holder->page_size_bytes)
                                 : NULL);
        table_add(table, format_size(arena, holder_kept_bytes(holder)));
        table_add(table, format_nodes(arena, holder->nodes, holder->n_nodes));
        table_add(table, instance ? instance->name : NULL);
}

static void add_holders(Text *text, const Status *status, const RenderOptions *options) {
        static const TableColumn columns[] = {
                {"HOLDER", TABLE_LEFT}, {"PID", TABLE_RIGHT},    {"COMMAND", TABLE_LEFT},
                {"PAGES", TABLE_RIGHT}, {"MAPPED", TABLE_RIGHT}, {"OF", TABLE_RIGHT},
                {"SIZE", TABLE_RIGHT},  {"NODES", TABLE_LEFT},   {"INSTANCE", TABLE_LEFT},
        };
        Table *table = table_new(text->arena, columns, ARRAY_LEN(columns));

        if (!status->holders || status->holders->list.n == 0)
                return;
        VEC_FOREACH(holder, &status->holders->list)
                add_holder(table, text->arena, status, holder);
        text_add(text, "\n");
        table_print(table, text, "", options->is_colored);
}

char *render_status(Arena *arena, const Status *status, const RenderOptions *options) {
        Text text = text_in(arena);

        add_headline(&text, status, options);
        add_instances(&text, status, options);
        add_pools(&text, status, options);
        add_holders(&text, status, options);
        if (status->problems.list.n > 0) {
                text_add(&text, "\n");
                text_add(&text, render_problems(arena, &status->problems, options));
        }
        return text.string;
}

static void add_field(Text *text, const char *label, const char *value) {
        text_printf(text, "%10s%c %s\n", label, *label ? ':' : ' ', value);
}

static bool is_of_instance(const StatusInstance *instance, const Effort *effort) {
        if (effort->page_size_bytes != instance->page_size_bytes)
                return false;
        for (size_t i = 0; i < instance->n_nodes; i++)
                if (instance->nodes[i].node == effort->node)
                        return true;
        return instance->n_nodes == 0;
}

/* What was done for the pools that serve the instance. */
static void add_efforts(Text *text, const Status *status, const StatusInstance *instance) {
        bool is_first = true;

        VEC_FOREACH(effort, &status->efforts) {
                if (!is_of_instance(instance, effort))
                        continue;
                add_field(text, is_first ? "Done" : "", effort_format(text->arena, effort));
                is_first = false;
        }
}

/* What its own unit holds. */
static void add_held(Text *text, const Status *status, const StatusInstance *instance) {
        bool is_first = true;

        if (!status->holders || !instance->unit || instance->pages_wanted == 0)
                return;
        VEC_FOREACH(holder, &status->holders->list) {
                if (!text_equals(holder->unit, instance->unit))
                        continue;
                add_field(text, is_first ? "Held by" : "", holder_format_use(text->arena, holder));
                is_first = false;
        }
        if (is_first)
                add_field(text, "Held by",
                          status->holders->is_complete ? "not mapped yet" : "no page in use yet");
}

char *render_status_instance(Arena *arena, const Status *status, const StatusInstance *instance,
                             const RenderOptions *options) {
        Text text = text_in(arena);

        render_colored(&text, options, verdict_looks[instance->verdict].color,
                       arena_printf(arena, "%s %s", verdict_looks[instance->verdict].mark,
                                    verdict_name(instance->verdict)));
        text_add(&text, "  ");
        render_colored(&text, options, color_bold, instance->name);
        text_add(&text, "\n");
        add_field(&text, "Unit", instance->unit ? instance->unit : "none waits for it");
        add_field(&text, "Engine", instance->engine ? instance->engine : "-");
        add_field(&text, "File", instance->file ? instance->file : "-");
        if (instance->pages_wanted > 0) {
                add_field(&text, "Pages",
                          arena_printf(arena, "%s of %s (%s)",
                                       format_granted(arena, instance->pages_granted,
                                                      instance->pages_wanted),
                                       format_page_size(arena, instance->page_size_bytes),
                                       size_of_pages(arena, instance->pages_wanted,
                                                     instance->page_size_bytes)));
                add_field(&text, "Nodes", format_nodes(arena, instance->nodes, instance->n_nodes));
        }
        add_held(&text, status, instance);
        add_field(&text, "Priority",
                  arena_printf(arena, "%u, Shortage=%s", instance->priority,
                               shortage_name(instance->shortage)));
        if (instance->reason.text)
                text_add_wrapped(&text, "    Reason: ", "            ", instance->reason.text,
                                 width_of(options));
        if (instance->reason.remedy)
                text_add_wrapped(&text, "What to do: ", "            ", instance->reason.remedy,
                                 width_of(options));
        add_efforts(&text, status, instance);
        return text.string;
}

char *render_verdict(Arena *arena, const StatusInstance *instance) {
        Text text = text_in(arena);

        text_printf(&text, "%s: %s", instance->name, verdict_name(instance->verdict));
        if (instance->pages_wanted > 0 && !instance->reason.text)
                text_printf(
                        &text, ": %s pages of %s (%s)",
                        format_granted(arena, instance->pages_granted, instance->pages_wanted),
                        format_page_size(arena, instance->page_size_bytes),
                        size_of_pages(arena, instance->pages_wanted, instance->page_size_bytes));
        if (instance->n_nodes > 0 && !instance->reason.text)
                text_printf(&text, " on nodes %s",
                            format_nodes(arena, instance->nodes, instance->n_nodes));
        if (instance->reason.text)
                text_printf(&text, ": %s", instance->reason.text);
        if (instance->reason.remedy)
                text_printf(&text, "; %s", instance->reason.remedy);
        return text.string;
}

/* ---- plan ---- */

/* "+500", "-"; "-1 +1" for a pool whose pages are split, and which grows all the same. */
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

static void add_plan_splits(Text *text, const PlanSteps *steps) {
        VEC_FOREACH(step, steps) {
                uint64_t pages = step->from_pages - step->to_pages;

                if (step->split_into_bytes == 0)
                        continue;
                text_printf(text, "Node %u: %s found %s of %s %s split into pages of %s.\n",
                            step->pool->node, format_count(text->arena, pages),
                            pages == 1 ? "page" : "pages",
                            format_page_size(text->arena, step->pool->page_size_bytes),
                            pages == 1 ? "is" : "are",
                            format_page_size(text->arena, step->split_into_bytes));
        }
}

static void add_plan_steps(Text *text, const Plan *plan, const RenderOptions *options) {
        static const TableColumn columns[] = {
                {"NODE", TABLE_RIGHT},  {"PAGE", TABLE_RIGHT},   {"FOUND", TABLE_RIGHT},
                {"TAKEN", TABLE_RIGHT}, {"WANTED", TABLE_RIGHT}, {"FROM", TABLE_RIGHT},
                {"TO", TABLE_RIGHT},    {"STEP", TABLE_RIGHT},
        };
        Arena *arena = text->arena;
        Table *table = table_new(arena, columns, ARRAY_LEN(columns));
        PlanSteps steps = plan_steps(arena, plan);

        for (size_t i = 0; i < plan->n_pools; i++) {
                const PlanPool *pool = &plan->pools[i];
                if (pool->from_pages == 0 && pool->to_pages == 0)
                        continue;
                table_printf(table, "%u", pool->node);
                table_add(table, format_page_size(arena, pool->page_size_bytes));
                table_add(table, format_count(arena, pool->found_pages));
                table_add(table, format_count(arena, pool->foreign_pages));
                table_add(table, format_count(arena, pool->granted_pages));
                table_add(table, format_count(arena, pool->from_pages));
                table_add(table, format_count(arena, pool->to_pages));
                table_add(table, format_pool_steps(arena, &steps, pool));
        }
        text_add(text, "\n");
        if (table_rows(table) == 0)
                text_add(text, "No pool has or gets any pages.\n");
        else
                table_print(table, text, "", options->is_colored);
        add_plan_splits(text, &steps);
}

static void add_plan_instances(Text *text, const Plan *plan, const RenderOptions *options) {
        static const TableColumn columns[] = {
                {"VERDICT", TABLE_LEFT},       {"INSTANCE", TABLE_LEFT}, {"SIZE", TABLE_RIGHT},
                {"PAGES", TABLE_RIGHT},        {"OF", TABLE_RIGHT},      {"NODES", TABLE_LEFT},
                {"TABLES SAVED", TABLE_RIGHT},
        };
        Arena *arena = text->arena;
        Table *table = table_new(arena, columns, ARRAY_LEN(columns));

        for (size_t i = 0; i < plan->n_instances; i++) {
                const PlanInstance *planned = &plan->instances[i];
                Verdict verdict = plan_verdict(planned);

                table_add_colored(table, verdict_name(verdict), verdict_looks[verdict].color);
                table_add(table, planned->demand->config->name);
                table_add(table,
                          size_of_pages(arena, planned->pages_wanted, planned->page_size_bytes));
                table_add(table,
                          format_granted(arena, planned->pages_granted, planned->pages_wanted));
                table_add(table, planned->page_size_bytes
                                         ? format_page_size(arena, planned->page_size_bytes)
                                         : "-");
                table_add(table, format_nodes(arena, planned->grants, planned->n_grants));
                table_add(table, planned->pages_granted > 0
                                         ? format_size(arena, plan_page_tables_bytes(planned))
                                         : "-");
        }
        if (table_rows(table) > 0)
                table_print(table, text, "", options->is_colored);
}

static void add_plan_reasons(Text *text, const Plan *plan, const RenderOptions *options) {
        for (size_t i = 0; i < plan->n_instances; i++) {
                const PlanInstance *planned = &plan->instances[i];
                const char *name = planned->demand->config->name;
                const Reason *reason = plan_reason(planned);

                if (reason->kind == REASON_NONE)
                        continue;
                text_add(text, "\n");
                text_add_wrapped(text, arena_printf(text->arena, "%s: ", name), "    ",
                                 reason->text, width_of(options));
                if (reason->remedy)
                        text_add_wrapped(text, "    what to do: ", "    ", reason->remedy,
                                         width_of(options));
        }
}

static bool is_anyone_short(const Plan *plan) {
        for (size_t i = 0; i < plan->n_instances; i++)
                if (plan_reason(&plan->instances[i])->kind != REASON_NONE)
                        return true;
        return false;
}

static void add_plan_headline(Text *text, const Plan *plan, const HostPlan *host) {
        size_t n_steps = plan_count_changed(plan);

        if (plan->n_instances == 0)
                text_add(text, "No instances are described in /etc/hugeplan.d.\n");
        else if (n_steps > 0)
                text_printf(text, "%zu %s to be changed. Nothing was written.\n\n", n_steps,
                            n_steps == 1 ? "pool is" : "pools are");
        else if (host_plan_count(host) > 0)
                text_add(text, "No pool is to be changed. Nothing was written.\n\n");
        else if (is_anyone_short(plan))
                text_add(text, "Nothing can be changed, though not every instance is served.\n\n");
        else
                text_add(text, "The host matches the plan: nothing to do.\n\n");
}

static void add_writes(Text *text, const HostWrites *writes) {
        VEC_FOREACH(write, writes)
                text_printf(text, "%s is to be set to '%s'.\n", write->path, write->value);
}

static void add_plan_host(Text *text, const HostPlan *host) {
        if (host_plan_count(host) > 0)
                text_add(text, "\n");
        add_writes(text, &host->thp.writes);
        add_writes(text, &host->limits.writes);
}

char *render_plan(Arena *arena, const Plan *plan, const HostPlan *host, const Config *config,
                  const RenderOptions *options) {
        Text text = text_in(arena);

        add_plan_headline(&text, plan, host);
        add_plan_instances(&text, plan, options);
        if (plan->n_instances > 0)
                add_plan_steps(&text, plan, options);
        add_plan_host(&text, host);
        if (plan->n_instances > 0)
                text_printf(
                        &text,
                        "\n%s of memory stays free for the host (KeepFree=%s of each node).\n"
                        "TABLES SAVED: page tables per session that touches all of the segment.\n",
                        format_size(arena, plan->keep_free_bytes),
                        amount_format(arena, &config->host.keep_free));
        add_plan_reasons(&text, plan, options);
        return text.string;
}

char *render_plan_after_reload(Arena *arena, const Plan *plan, const RenderOptions *options) {
        Text text = text_in(arena);

        text_add(&text, "\nAfter 'hugeplanctl reload', which opens the boot guard:\n\n");
        add_plan_instances(&text, plan, options);
        add_plan_steps(&text, plan, options);
        add_plan_reasons(&text, plan, options);
        return text.string;
}

/* ---- explain ---- */

static void add_origins(Text *text, const InstanceConfig *config) {
        static const TableColumn columns[] = {
                {"SETTING", TABLE_LEFT}, {"VALUE", TABLE_LEFT}, {"FROM", TABLE_LEFT}};
        Table *table = table_new(text->arena, columns, ARRAY_LEN(columns));

        VEC_FOREACH(origin, &config->origins) {
                table_printf(table, "%s=", origin->key);
                table_add(table, origin->value);
                table_printf(table, "%s:%u", origin->file, origin->line);
        }
        if (table_rows(table) > 0)
                table_print(table, text, "  ", false);
}

static void add_sizing(Text *text, const Sizing *sizing, const RenderOptions *options) {
        static const TableColumn columns[] = {{"BYTES", TABLE_RIGHT},
                                              {"", TABLE_RIGHT},
                                              {"WHAT", TABLE_LEFT},
                                              {"HOW", TABLE_LEFT}};
        Arena *arena = text->arena;
        Table *table = table_new(arena, columns, ARRAY_LEN(columns));
        uint64_t sum = 0;

        VEC_FOREACH(step, &sizing->steps) {
                table_add(table, format_count(arena, step->bytes));
                table_add(table, format_size(arena, step->bytes));
                table_add(table, step->what);
                table_add(table, step->formula ? step->formula : "as given");
                sum = add_saturated(sum, step->bytes);
        }
        if (table_rows(table) > 0) {
                table_add(table, format_count(arena, sum));
                table_add(table, format_size(arena, sum));
                table_add(table, "in all");
                table_add(table, "");
                table_print(table, text, "  ", options->is_colored);
                text_add(text, "\n");
        }
        text_printf(text, "  %s %s of %s = %s bytes (%s), %s\n", format_count(arena, sizing->pages),
                    sizing->pages == 1 ? "page" : "pages",
                    format_page_size(arena, sizing->page_size_bytes),
                    format_count(arena, sizing->bytes), format_size(arena, sizing->bytes),
                    sizing->is_exact ? "exact" : "an estimate");
        if (sizing->caveat)
                text_add_wrapped(text, "  ", "  ", sizing->caveat, width_of(options));
}

char *render_sizing(Arena *arena, const Sizing *sizing, const RenderOptions *options) {
        Text text = text_in(arena);

        add_sizing(&text, sizing, options);
        return text.string;
}

/* "MongoDB 8.0.4" */
static const char *title_of(Arena *arena, const Engine *engine, const char *version) {
        return version ? arena_printf(arena, "%s %s", engine->title, version) : engine->title;
}

static void add_thp_wish(Text *text, const InstanceConfig *config) {
        ThpPolicy wish = thp_wish_of(config);

        if (wish != THP_AUTO)
                text_printf(text, "%sTransparent huge pages: it wants '%s' (%s)\n",
                            config->engine->reserves ? "" : "\n", thp_policy_name(wish),
                            config->thp != THP_AUTO ? "TransparentHugePages="
                                                    : title_of(text->arena, config->engine,
                                                               config->learned.version));
}

char *render_thp_wish(Arena *arena, const Engine *engine, const char *version, ThpPolicy wish) {
        const char *title = title_of(arena, engine, version);

        if (wish == THP_AUTO)
                return arena_printf(
                        arena,
                        "%s takes no reserved huge pages, and looks after transparent ones itself\n",
                        title);
        return arena_printf(
                arena, "%s takes no reserved huge pages; of transparent ones it wants '%s'%s\n",
                title, thp_policy_name(wish),
                engine->thp_by_version && !version
                        ? ", which depends on its version (--engine-version=)"
                        : "");
}

static void add_options(Text *text, const DemandInstance *demand, const RenderOptions *options) {
        for (size_t i = 0; i < demand->n_options; i++) {
                text_printf(text, "\nSize with pages of %s:\n",
                            format_page_size(text->arena, demand->options[i].page_size_bytes));
                add_sizing(text, &demand->options[i].sizing, options);
        }
}

/* Without its comments, which say where it comes from. */
static void add_generated(Text *text, const GeneratedFile *file) {
        const char *rest = file->text;
        char *line;

        text_printf(text, "\nThe generator writes %s:\n", file->name);
        while ((line = text_next_word(text->arena, &rest, "\n")))
                if (*line != '#')
                        text_printf(text, "  %s\n", line);
}

char *render_explain(Arena *arena, const PlanInstance *planned, const Topology *topology,
                     const Lesson *lesson, const GeneratedFiles *files,
                     const RenderOptions *options) {
        const DemandInstance *demand = planned->demand;
        const InstanceConfig *config = demand->config;
        const Reason *reason = plan_reason(planned);
        Text text = text_in(arena);

        text_printf(&text, "%s: %s (%s)\n\n", config->name, config->engine->title, config->file);
        add_origins(&text, config);
        if (lesson)
                text_add(&text, render_lesson(arena, lesson, options));
        else
                add_options(&text, demand, options);
        if (demand->n_options > 0) {
                text_printf(&text, "\nPlacement=%s on nodes %s: %s\n",
                            placement_name(config->placement), id_set_format(arena, &demand->nodes),
                            planned->n_grants > 0
                                    ? format_nodes(arena, planned->grants, planned->n_grants)
                                    : "nothing");
                text_printf(
                        &text,
                        "Page tables: up to %s per session with pages of %s, next to nothing with huge pages\n",
                        format_size(arena, plan_page_tables_bytes(planned)),
                        format_size(arena, topology->base_page_bytes));
        }
        add_thp_wish(&text, config);
        if (reason->text)
                text_add_wrapped(&text,
                                 reason == &planned->reason ? "\nIt is short: "
                                                            : "\nIt does not start: ",
                                 "  ", reason->text, width_of(options));
        if (reason->remedy)
                text_add_wrapped(&text, "What to do: ", "  ", reason->remedy, width_of(options));
        VEC_FOREACH(file, files)
                add_generated(&text, file);
        return text.string;
}
