/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/source.h"
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
        for (size_t i = 0; i < MIN(sentences.n, (size_t) N_TOLD_MAX); i++) {
                text_add(&text, "; ");
                add_plain(&text, sentences.items[i]);
        }
        if (sentences.n > N_TOLD_MAX)
                text_printf(&text, "; and %zu more", sentences.n - N_TOLD_MAX);
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
