/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/views.h"

#include "base/text.h"
#include "status/proof.h"

/* Further problems are only counted, because the line is read on a telephone. */
enum { N_TOLD_MAX = 4 };

static const char *const state_names[] = {
        [NAGIOS_OK] = "OK",
        [NAGIOS_WARNING] = "WARNING",
        [NAGIOS_CRITICAL] = "CRITICAL",
        [NAGIOS_UNKNOWN] = "UNKNOWN",
};

static bool has_fallen_back(const StatusInstance *instance) {
        return instance->proof && instance->proof->outcome == OUTCOME_FELL_BACK;
}

static NagiosState judge_instance(const StatusInstance *instance) {
        static const NagiosState states[] = {
                [VERDICT_READY] = NAGIOS_OK,         [VERDICT_DEGRADED] = NAGIOS_WARNING,
                [VERDICT_PENDING] = NAGIOS_WARNING,  [VERDICT_REFUSED] = NAGIOS_CRITICAL,
                [VERDICT_INVALID] = NAGIOS_CRITICAL, [VERDICT_LOST] = NAGIOS_CRITICAL,
        };
        const NagiosState state = states[instance->verdict];

        return state == NAGIOS_OK && has_fallen_back(instance) ? NAGIOS_WARNING : state;
}

static NagiosState judge(const Status *status) {
        NagiosState worst = diags_count(&status->problems, SEVERITY_ERROR) > 0     ? NAGIOS_CRITICAL
                            : diags_count(&status->problems, SEVERITY_WARNING) > 0 ? NAGIOS_WARNING
                                                                                   : NAGIOS_OK;

        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                worst = MAX(worst, judge_instance(instance));
        return worst;
}

/* Returns STATUS with this instance only, without the problems in the files of other instances. */
static const Status *status_of(Arena *arena, const Status *status, const StatusInstance *instance) {
        Status *one = arena_memdup(arena, status, sizeof(*status));

        one->instances = arena_memdup(arena, instance, sizeof(*instance));
        one->n_instances = 1;
        one->problems = diags_in(arena);
        VEC_FOREACH(problem, &status->problems.list)
                if (!problem->file || text_equals(problem->file, instance->file))
                        diags_add(&one->problems, problem);
        return one;
}

/* ---- what is wrong ---- */

typedef VEC(const char *) Sentences;

static void add_problems(Arena *arena, Sentences *sentences, const Diags *problems,
                         Severity severity) {
        VEC_FOREACH(problem, &problems->list)
                if (problem->severity == severity)
                        *vec_push(arena, sentences) =
                                problem->line > 0 ? arena_printf(arena, "%s:%u: %s", problem->file,
                                                                 problem->line, problem->text)
                                                  : problem->text;
}

/* Returns the worst first. The reason of an instance with too few pages is among the problems. */
static Sentences find_sentences(Arena *arena, const Status *status) {
        Sentences sentences = {};

        add_problems(arena, &sentences, &status->problems, SEVERITY_ERROR);
        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                if (instance->verdict == VERDICT_PENDING)
                        *vec_push(arena, &sentences) =
                                arena_printf(arena, "%s is being worked on", instance->name);
        add_problems(arena, &sentences, &status->problems, SEVERITY_WARNING);
        return sentences;
}

/* Adds STRING on one line, and without "|", which begins the figures. */
static void add_plain(Text *text, const char *string) {
        for (; *string; string++)
                text_add_n(text, *string == '|' ? "/" : *string == '\n' ? " " : string, 1);
}

static void add_sentences(Text *text, const Sentences *sentences) {
        for (size_t i = 0; i < MIN(sentences->n, (size_t) N_TOLD_MAX); i++) {
                text_add(text, "; ");
                add_plain(text, sentences->items[i]);
        }
        if (sentences->n > N_TOLD_MAX)
                text_printf(text, "; and %zu more", sentences->n - N_TOLD_MAX);
}

/* ---- figures: 'label'=value[unit];[warning];[critical];[least];[most] ---- */

static void add_figures(Text *text, const Status *status, size_t n_ready) {
        text_printf(text, " | ready=%zu;;;0;%zu errors=%zu;;;0 warnings=%zu;;;0", n_ready,
                    status->n_instances, diags_count(&status->problems, SEVERITY_ERROR),
                    diags_count(&status->problems, SEVERITY_WARNING));
        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                if (instance->page_size_bytes > 0)
                        text_printf(
                                text, " 'granted %s'=%" PRIu64 "B;;;0;%" PRIu64, instance->name,
                                mul_saturated(instance->pages_granted, instance->page_size_bytes),
                                mul_saturated(instance->pages_wanted, instance->page_size_bytes));
        ARRAY_FOREACH(pool, status->pools, status->n_pools)
                if (pool->total_pages > 0)
                        text_printf(text, " 'free %s node%u'=%" PRIu64 "B;;;0;%" PRIu64,
                                    format_page_size(text->arena, pool->page_size_bytes),
                                    pool->node,
                                    mul_saturated(pool->free_pages, pool->page_size_bytes),
                                    mul_saturated(pool->total_pages, pool->page_size_bytes));
}

NagiosState render_nagios(Arena *arena, const Status *status, const StatusInstance *instance,
                          const char *why, const char **ret) {
        if (instance)
                status = status_of(arena, status, instance);
        const NagiosState state = why ? NAGIOS_UNKNOWN : judge(status);
        const Sentences sentences = find_sentences(arena, status);
        size_t n_ready = 0;
        Text text = text_in(arena);

        ARRAY_FOREACH(each, status->instances, status->n_instances)
                n_ready += each->verdict == VERDICT_READY;
        text_printf(&text, "HUGEPLAN %s - ", state_names[state]);
        if (why) {
                add_plain(&text, why);
        } else {
                if (status->n_instances == 0)
                        text_add(&text, "no instance is described");
                else
                        text_printf(&text, "%zu of %zu ready", n_ready, status->n_instances);
                add_sentences(&text, &sentences);
                add_figures(&text, status, n_ready);
        }
        text_add(&text, "\n");
        *ret = text.string;
        return state;
}
