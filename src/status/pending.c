/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/pending.h"

#include "base/text.h"
#include "model/problem.h"

/* ---- mistakes ---- */

static void judge_mistakes(const Config *files, Diags *problems) {
        Arena *arena = problems->arena;
        const Diag *first = NULL;
        Text refused = text_in(arena);
        size_t n = 0;

        VEC_FOREACH(problem, &files->problems.list) {
                if (problem->severity != SEVERITY_ERROR ||
                    VEC_ANY(known, &problems->list,
                            text_equals(known->id, problem->id) &&
                                    text_equals(known->file, problem->file) &&
                                    known->line == problem->line &&
                                    text_equals(known->text, problem->text)))
                        continue;
                first = first ? first : problem;
                n++;
        }
        if (!first)
                return;
        /* At the next boot, instances with a mistake in their files are refused. */
        ARRAY_FOREACH(instance, files->instances, files->n_instances)
                if (instance->refusal)
                        text_add_item(&refused, instance->name);
        diags_report(
                problems,
                (Diag){.severity = SEVERITY_ERROR,
                       .id = problem_id(PROBLEM_CONFIG_PENDING),
                       .file = first->file,
                       .line = first->line,
                       .key = first->key,
                       .remedy = arena_printf(arena, "%s%sthen run 'hugeplanctl reload'",
                                              first->remedy ? first->remedy : "",
                                              first->remedy ? "; " : "")},
                "%s%s. hugepland has not read this yet: a reload is refused%s%s", first->text,
                n > 1 ? arena_printf(arena, "; and %zu more mistake%s", n - 1, n == 2 ? "" : "s")
                      : "",
                refused.length > 0 ? ", and from the next boot on the gate refuses " : "",
                text_string(&refused));
}

/* ---- changes ---- */

static bool has_problem(const Status *status, ProblemKind kind) {
        return VEC_ANY(problem, &status->problems.list, text_equals(problem->id, problem_id(kind)));
}

static void judge_changes(const Config *files, Status *running) {
        Arena *arena = running->problems.arena;
        Text lists[] = {text_in(arena), text_in(arena), text_in(arena)}, text = text_in(arena);
        static const char *const titles[] = {"added", "changed", "removed"};

        ARRAY_FOREACH(now, files->instances, files->n_instances) {
                const StatusInstance *before = status_find(running, now->name);

                if (now->refusal)
                        continue;
                if (!before)
                        text_add_item(&lists[0], now->name);
                /* Fixing a mistake does not change the fingerprint if the mistake was not in an assignment. */
                else if (before->fingerprint &&
                         (before->verdict == VERDICT_INVALID ||
                          !text_equals(before->fingerprint, now->fingerprint)))
                        text_add_item(&lists[1], now->name);
        }
        ARRAY_FOREACH(instance, running->instances, running->n_instances)
                if (!config_find(files, instance->name))
                        text_add_item(&lists[2], instance->name);
        for (size_t i = 0; i < ARRAY_LEN(lists); i++)
                if (lists[i].length > 0)
                        text_printf(&text, "%s%s: %s", text.length > 0 ? "; " : "", titles[i],
                                    lists[i].string);
        if (running->fingerprint && !text_equals(running->fingerprint, files->host.fingerprint))
                text_printf(&text, "%schanged: [Host]", text.length > 0 ? "; " : "");
        if (text.length == 0)
                return;
        diags_report(&running->problems,
                     problem_of(PROBLEM_RELOAD_PENDING, NULL,
                                has_problem(running, PROBLEM_DROPIN_MISSING)
                                        ? "run 'systemctl daemon-reload', then 'hugeplanctl reload'"
                                        : "run 'hugeplanctl reload'"),
                     "these files have changed since hugepland read them; %s", text_string(&text));
}

void pending_judge(const Config *files, Status *status) {
        judge_mistakes(files, &status->problems);
        /* After a refused reload the status has the reason; other changes have to wait until that is fixed. */
        if (has_problem(status, PROBLEM_RELOAD_REFUSED) ||
            (has_problem(status, PROBLEM_CONFIG_REJECTED) &&
             diags_count(&files->problems, SEVERITY_ERROR) > 0))
                return;
        judge_changes(files, status);
}

/* ---- falls ---- */

void falls_add(const StatusInstance *was, const Reason *reason, Diags *falls) {
        if ((!was->is_running && !verdict_lets_start(was->verdict)) || was->verdict == VERDICT_LOST)
                return;
        diags_report(falls, problem_of(PROBLEM_RELOAD_REFUSED, was->file, reason->remedy),
                     "%s is ready, and would no longer be allowed to start: %s", was->name,
                     reason->text);
}

void falls_find(const Status *before, const Plan *restarted, const Plan *next, Diags *falls) {
        const Plan *const plans[] = {restarted, next};

        ARRAY_FOREACH(was, before->instances, before->n_instances)
                ARRAY_FOREACH(plan, plans, ARRAY_LEN(plans)) {
                        const PlanInstance *planned = plan_find(*plan, was->name);

                        if (!planned || verdict_lets_start(plan_verdict(planned)))
                                continue;
                        falls_add(was, plan_reason(planned), falls);
                        break;
                }
}
