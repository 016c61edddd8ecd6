/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/source.h"
#include "render/views.h"

#include "base/size.h"
#include "base/table.h"
#include "base/text.h"
#include "status/proof.h"

static void add_headline(Text *text, const Status *status, const RenderOptions *options) {
        size_t n_start = 0, n_fallen = 0;

        ARRAY_FOREACH(each, status->instances, status->n_instances) {
                n_start += verdict_lets_start(each->verdict);
                n_fallen += each->proof && each->proof->outcome == OUTCOME_FELL_BACK;
        }
        /* Every instance may start, but not every running one uses its pages. */
        if (n_fallen > 0 && status->verdict == VERDICT_READY)
                render_add_marked(text, options, MARK_DOUBT, verdict_name(status->verdict));
        else
                render_add_verdict(text, options, status->verdict);
        if (status->n_instances == 0)
                text_add(text, "  no instances are described in /etc/hugeplan.d");
        else
                text_printf(text, "  %zu of %zu %s may start", n_start, status->n_instances,
                            status->n_instances == 1 ? "instance" : "instances");
        if (n_fallen > 0)
                text_printf(text, ", %zu fell back to small pages", n_fallen);
        text_printf(text, "; transparent huge pages: %s", status->thp ? status->thp : "none");
        if (!TEXT_IS_ANY(status->phase, "idle", "aside"))
                text_printf(text, "; %s", status->phase);
        text_add(text, "\n");
}

/* Returns NULL if the outcome is not known. */
static const char *outcome_word(Arena *arena, const StatusInstance *instance) {
        return instance->proof && instance->proof->outcome != OUTCOME_UNKNOWN
                       ? proof_word(arena, instance->proof)
                       : NULL;
}

/* Returns where its pages are (the kernel may have moved them), or else where they were granted. */
static char *render_places(Arena *arena, const StatusInstance *instance) {
        const PagesByNode nodes = instance->proof ? proof_places(arena, instance->proof)
                                                  : instance->nodes;

        return render_nodes(arena, &nodes);
}

static void add_instances(Text *text, const Status *status, const RenderOptions *options) {
        Arena *arena = text->arena;
        /* Outcomes are shown if any database has started. */
        bool has_outcomes = ARRAY_ANY(each, status->instances, status->n_instances,
                                      each->proof && each->proof->outcome > OUTCOME_NOT_STARTED);
        Table *table = table_new(
                arena, has_outcomes ? "VERDICT|INSTANCE|>SIZE|>PAGES|>OF|NODES|OUTCOME|UNIT"
                                    : "VERDICT|INSTANCE|>SIZE|>PAGES|>OF|NODES|UNIT");

        ARRAY_FOREACH(instance, status->instances, status->n_instances) {
                render_add_instance(table, arena, instance);
                const char *places = render_places(arena, instance);

                table_add(table,
                          instance->until_restart
                                  ? arena_printf(arena, "%s (from its next start on)", places)
                                  : places);
                if (has_outcomes)
                        table_add(table, outcome_word(arena, instance));
                table_add(table, instance->unit);
        }
        render_table(text, options, table, NULL);
}

static void add_pools(Text *text, const Status *status, const RenderOptions *options) {
        Arena *arena = text->arena;
        bool has_cover = status->covers.n > 0;
        Table *table = table_new(
                arena, has_cover ? ">NODE|>PAGE|>TOTAL|>FREE|>OURS|>COVER|>OTHERS|>SURPLUS|>MEMORY"
                                 : ">NODE|>PAGE|>TOTAL|>FREE|>OURS|>OTHERS|>SURPLUS|>MEMORY");

        ARRAY_FOREACH(pool, status->pools, status->n_pools) {
                bool is_used_size = ARRAY_ANY(
                        each, status->pools, status->n_pools,
                        (each->page_size_bytes == pool->page_size_bytes && each->total_pages > 0));

                if (!is_used_size)
                        continue;
                table_printf(table, "%u", pool->node);
                table_add(table, format_page_size(arena, pool->page_size_bytes));
                table_add(table, format_count(arena, pool->total_pages));
                table_add(table, format_count(arena, pool->free_pages));
                table_add(table, format_count(arena, pool->owned_pages));
                if (has_cover)
                        table_add(table, format_count(arena, pool->cover_pages));
                table_add(table, format_count(arena, pool->foreign_pages));
                table_add(table, format_count(arena, pool->surplus_pages));
                table_add(table, render_size(arena, pool->total_pages, pool->page_size_bytes));
        }
        render_table(text, options, table,
                     status->n_pools > 0 ? "All huge page pools are empty.\n"
                                         : "This host shows no huge page pools.\n");
}

static void add_page_users(Text *text, const Status *status, const RenderOptions *options) {
        Arena *arena = text->arena;
        Table *table =
                table_new(arena, "USED BY|>PID|COMMAND|>PAGES|>MAPPED|>OF|>SIZE|NODES|INSTANCE");

        if (!status->page_users)
                return;
        VEC_FOREACH(user, &status->page_users->list) {
                const StatusInstance *instance = status_find_unit(status, user->unit);
                uint64_t size_bytes = user->page_size_bytes;
                bool has_pid = user->pid > 0;

                table_add(table, user->unit || has_pid ? user->unit : user->command);
                table_add(table, has_pid ? arena_printf(arena, "%" PRIu64, user->pid) : NULL);
                table_add(table, has_pid ? user->command : NULL);
                /* "198+" if there may be more; "-" if the page size is not known */
                table_add(table, size_bytes == 0 ? NULL
                                                 : arena_printf(arena, "%s%s",
                                                                format_count(arena, user->pages),
                                                                user->is_lower_bound ? "+" : ""));
                table_add(table,
                          user->mapped_pages > 0 ? format_count(arena, user->mapped_pages) : NULL);
                table_add(table, size_bytes > 0 ? format_page_size(arena, size_bytes) : NULL);
                table_add(table, format_size(arena, page_user_kept_bytes(user)));
                table_add(table, render_nodes(arena, &user->nodes));
                table_add(table, instance ? instance->name : NULL);
        }
        render_table(text, options, table, NULL);
}

char *render_status(Arena *arena, const Status *status, const RenderOptions *options) {
        Text text = text_in(arena);

        add_headline(&text, status, options);
        add_instances(&text, status, options);
        add_pools(&text, status, options);
        /* Reserved pages are not in the table of pools: the kernel counts them for the whole host. */
        VEC_FOREACH(reserved, &status->reserved)
                text_printf(&text, "%sReserved and not touched yet: %s %sby %s%s%s.\n",
                            reserved == status->reserved.items ? "\n" : "",
                            format_page_count(arena, reserved->pages, reserved->page_size_bytes),
                            reserved->is_likely && (reserved->unit || reserved->instance)
                                    ? "likely "
                                    : "",
                            reserved->unit        ? reserved->unit
                            : reserved->instance  ? reserved->instance
                            : reserved->is_likely ? "units whose pages are not counted"
                                                  : "others",
                            id_set_is_empty(&reserved->nodes)     ? ""
                            : id_set_count(&reserved->nodes) == 1 ? ", on node "
                                                                  : ", on nodes ",
                            id_set_format(arena, &reserved->nodes));
        if (status->covers.n > 0)
                text_add(&text, "\n");
        render_covers(&text, options, &status->covers);
        add_page_users(&text, status, options);
        if (status->problems.list.n > 0) {
                text_add(&text, "\n");
                text_add(&text, render_problems(arena, &status->problems, false, options));
        }
        return text.string;
}

/* Adds the pages that its own unit uses, if they were read. */
static void add_held(Text *text, const StatusInstance *instance, const RenderOptions *options) {
        const ServerLook *look = instance->proof ? instance->proof->look : NULL;
        const char *label = "Used by";

        if (!look || !instance->unit || instance->pages_wanted == 0)
                return;
        VEC_FOREACH(user, &look->pages) {
                PageUser shown = *user;

                if (shown.pid == 0) { /* the controller's count names no process */
                        shown.pid = look->pid;
                        shown.command = look->command;
                }
                render_field(text, options, label, page_user_format_use(text->arena, &shown));
                label = "";
        }
        if (look->pages.n == 0)
                render_field(text, options, label,
                             look->is_all_mapped || !look->is_running ? "not mapped yet"
                                                                      : "no page in use yet");
}

char *render_status_instance(Arena *arena, const Status *status, const StatusInstance *instance,
                             const RenderOptions *options) {
        const StatusHold *hold = instance->until_restart;
        Text text = text_in(arena);

        render_add_verdict(&text, options, instance->verdict);
        text_add(&text, "  ");
        render_colored(&text, options, RENDER_BOLD, instance->name);
        text_add(&text, "\n");
        render_field(&text, options, "Unit",
                     instance->unit ? instance->unit : "- (hugeplan adds no gate)");
        render_field(&text, options, "Engine", instance->engine ? instance->engine : "-");
        render_field(&text, options, "File", instance->file ? instance->file : "-");
        if (instance->pages_wanted > 0) {
                render_field(&text, options, "Pages",
                             arena_printf(arena, "%s of %s (%s)",
                                          render_granted(arena, instance->pages_granted,
                                                         instance->pages_wanted),
                                          format_page_size(arena, instance->page_size_bytes),
                                          render_size(arena, instance->pages_wanted,
                                                      instance->page_size_bytes)));
                render_field(&text, options, "Nodes", render_places(arena, instance));
        }
        if (hold)
                render_field(&text, options, "Runs with",
                             arena_printf(arena, "%s of %s on nodes %s, until %s is restarted",
                                          format_count(arena, hold->pages),
                                          format_page_size(arena, hold->page_size_bytes),
                                          render_nodes(arena, &hold->nodes), hold->unit));
        const char *word = outcome_word(arena, instance);

        render_field(&text, options, "Outcome", word);
        /* A fall back has a reason and a remedy of its own. */
        if (word && instance->proof->outcome == OUTCOME_FELL_BACK) {
                render_field(&text, options, "Why", instance->proof->why);
                render_field(&text, options, "What to do", instance->proof->remedy);
        }
        add_held(&text, instance, options);
        render_field(&text, options, "Priority",
                     arena_printf(arena, "%u, Shortage=%s", instance->priority,
                                  shortage_names[instance->shortage]));
        render_field(&text, options, "Reason", instance->reason.text);
        render_field(&text, options, "What to do", instance->reason.remedy);
        const char *label = "Done";

        /* The attempts on pools that serve the instance. */
        VEC_FOREACH(attempt, &status->attempts) {
                if (attempt->page_size_bytes != instance->page_size_bytes ||
                    (instance->nodes.n > 0 &&
                     !VEC_ANY(node, &instance->nodes, node->node == attempt->node)))
                        continue;
                render_field(&text, options, label, attempt_format(arena, attempt));
                label = "";
        }
        return text.string;
}

/* ---- status --nagios ---- */

/* Further problems are only counted, because the line is read on a telephone. */
enum { N_NAMED_MAX = 4 };

static const char *const state_names[] = {
        [NAGIOS_OK] = "OK",
        [NAGIOS_WARNING] = "WARNING",
        [NAGIOS_CRITICAL] = "CRITICAL",
        [NAGIOS_UNKNOWN] = "UNKNOWN",
};

static NagiosState judge_instance(const StatusInstance *instance) {
        static const NagiosState states[] = {
                [VERDICT_READY] = NAGIOS_OK,         [VERDICT_DEGRADED] = NAGIOS_WARNING,
                [VERDICT_PENDING] = NAGIOS_WARNING,  [VERDICT_REFUSED] = NAGIOS_CRITICAL,
                [VERDICT_INVALID] = NAGIOS_CRITICAL, [VERDICT_LOST] = NAGIOS_CRITICAL,
                [VERDICT_ASIDE] = NAGIOS_WARNING,
        };
        bool has_fallen_back = instance->proof && instance->proof->outcome == OUTCOME_FELL_BACK;

        return instance->verdict == VERDICT_READY && has_fallen_back ? NAGIOS_WARNING
                                                                     : states[instance->verdict];
}

static void add_problems(Arena *arena, SourceNames *sentences, const Diags *problems,
                         Severity severity) {
        VEC_FOREACH(problem, &problems->list)
                if (problem->severity == severity)
                        *vec_push(arena, sentences) =
                                problem->line > 0 ? arena_printf(arena, "%s:%u: %s", problem->file,
                                                                 problem->line, problem->text)
                                                  : problem->text;
}

/* Adds STRING on one line, and without "|", which begins the figures. */
static void add_plain(Text *text, const char *string) {
        for (; *string; string++)
                text_add_n(text, *string == '|' ? "/" : *string == '\n' ? " " : string, 1);
}

NagiosState render_nagios(Arena *arena, const Status *status, const StatusInstance *only,
                          const char *why, const char **ret) {
        const StatusInstance *instances = only ? only : status->instances;
        size_t n = only ? 1 : status->n_instances, n_ready = 0, n_errors, n_warnings;
        NagiosState state = NAGIOS_OK;
        Diags problems = diags_in(arena);
        SourceNames sentences = {};
        Text text = text_in(arena);

        /* Of one instance, without the problems in the files of others. */
        VEC_FOREACH(problem, &status->problems.list)
                if (!only || !problem->file || text_equals(problem->file, only->file))
                        diags_add(&problems, problem);
        n_errors = diags_count(&problems, SEVERITY_ERROR);
        n_warnings = diags_count(&problems, SEVERITY_WARNING);
        if (n_errors > 0 || n_warnings > 0)
                state = n_errors > 0 ? NAGIOS_CRITICAL : NAGIOS_WARNING;
        ARRAY_FOREACH(instance, instances, n) {
                state = MAX(state, judge_instance(instance));
                n_ready += instance->verdict == VERDICT_READY;
        }
        state = why ? NAGIOS_UNKNOWN : state;
        /* The worst first. The reason of an instance with too few pages is among the problems. */
        add_problems(arena, &sentences, &problems, SEVERITY_ERROR);
        ARRAY_FOREACH(instance, instances, n)
                if (instance->verdict == VERDICT_PENDING)
                        *vec_push(arena, &sentences) =
                                arena_printf(arena, "%s is being reserved", instance->name);
        add_problems(arena, &sentences, &problems, SEVERITY_WARNING);
        text_printf(&text, "HUGEPLAN %s - ", state_names[state]);
        if (why) {
                add_plain(&text, why);
                text_add(&text, "\n");
                *ret = text.string;
                return state;
        }
        if (n == 0)
                text_add(&text, "no instance is described");
        else
                text_printf(&text, "%zu of %zu ready", n_ready, n);
        for (size_t i = 0; i < MIN(sentences.n, (size_t) N_NAMED_MAX); i++) {
                text_add(&text, "; ");
                add_plain(&text, sentences.items[i]);
        }
        if (sentences.n > N_NAMED_MAX)
                text_printf(&text, "; and %zu more", sentences.n - N_NAMED_MAX);
        /* The figures: 'label'=value[unit];[warning];[critical];[least];[most] */
        text_printf(&text, " | ready=%zu;;;0;%zu errors=%zu;;;0 warnings=%zu;;;0", n_ready, n,
                    n_errors, n_warnings);
        ARRAY_FOREACH(instance, instances, n)
                if (instance->page_size_bytes > 0)
                        text_printf(
                                &text, " 'granted %s'=%" PRIu64 "B;;;0;%" PRIu64, instance->name,
                                mul_saturated(instance->pages_granted, instance->page_size_bytes),
                                mul_saturated(instance->pages_wanted, instance->page_size_bytes));
        ARRAY_FOREACH(pool, status->pools, status->n_pools)
                if (pool->total_pages > 0)
                        text_printf(&text, " 'free %s node%u'=%" PRIu64 "B;;;0;%" PRIu64,
                                    format_page_size(arena, pool->page_size_bytes), pool->node,
                                    mul_saturated(pool->free_pages, pool->page_size_bytes),
                                    mul_saturated(pool->total_pages, pool->page_size_bytes));
        text_add(&text, "\n");
        *ret = text.string;
        return state;
}
