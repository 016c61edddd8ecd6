/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The current status: from fresh counts, and from the keeper's memory of refused reloads and starts. */
#include "keeper/keeper_state.h"

#include "base/text.h"
#include "model/problem.h"

/* Adds what the keeper remembers: why the last reload left the previous plan in effect (errors of the files, or instances
 * that would lose their pages), and refused starts of instances that could start now and have not started since. */
static void add_remembered(const Keeper *keeper, Status *status) {
        bool has_mistakes = keeper->reload.state == KEEPER_RELOAD_REJECTED;
        Diags *problems = &status->problems;

        if (keeper->reload.rejected) {
                diags_add_all(problems, keeper->reload.rejected);
                Diag diag = problem_of(
                        has_mistakes ? PROBLEM_CONFIG_REJECTED : PROBLEM_RELOAD_REFUSED, NULL,
                        has_mistakes
                                ? "correct the files and run 'hugeplanctl reload'"
                                : "correct the files and run 'hugeplanctl reload'; --force applies "
                                  "them anyway");

                diag.severity = SEVERITY_WARNING;
                diags_report(problems, diag,
                             "the last reload was refused; the previous plan stays in effect");
        }
        VEC_FOREACH(refusal, &keeper->known.look->ledger->refusals) {
                const StatusInstance *instance = status_find(status, refusal->instance);

                if (!instance || instance->is_running || !verdict_lets_start(instance->verdict))
                        continue;
                diags_report(problems,
                             problem_of(PROBLEM_GATE_REFUSED, instance->file,
                                        arena_printf(problems->arena, "systemctl start %s",
                                                     instance->unit)),
                             "the last start of %s was refused: %s; its pages are available now",
                             instance->unit, refusal->text);
        }
}

/* Whether the counts have changed since the plan was made: pages are exposed, or the pool has an instance's pages, as
 * planned, but running units may take some of them. */
static bool is_overtaken(const Plan *plan, const Status *status) {
        bool is_any_lacking = false;

        ARRAY_FOREACH(planned, plan->instances, plan->n_instances) {
                const StatusInstance *instance = &status->instances[planned - plan->instances];

                is_any_lacking |= plan_verdict(planned) == VERDICT_READY &&
                                  instance->verdict != VERDICT_READY && instance->lack.pages > 0 &&
                                  instance->pages_granted == planned->pages_granted;
        }
        return is_any_lacking ||
               VEC_ANY(problem, &status->problems.list,
                       text_equals(problem->id, problem_id(PROBLEM_PAGES_EXPOSED)));
}

/* Plans and judges from the counts of NOW: pages that this plan reserves are pending rather than lost. Sets wants_round
 * for the round that is to reserve them. */
static Status *judge_overtaken(const Keeper *keeper, Arena *arena, Look *now,
                               const LookInput *input, StatusInput *judged, Status *status) {
        /* A pool that was lowered externally is repaired later, when no more changes follow. */
        if (keeper->drift.is_left || keeper_has_lost_pages(keeper))
                return status;
        look_complete(arena, input, now);
        if (now->fault.error < 0 || plan_count_changed(now->plan) == 0)
                return status;
        judged->plan = now->plan;
        judged->is_working = true;
        judged->phase = "reserving";
        status = status_judge(arena, judged);
        status->wants_round = true;
        return status;
}

Status *keeper_judge_by(const Keeper *keeper, Arena *arena, bool is_retrying, const Look *seen) {
        LookInput look_input = keeper_look_input(keeper);

        look_input.known = keeper->known.look->topology;
        look_input.seen = seen;
        Look *look = look_at_host(arena, &look_input);
        const ReadFault *fault = look->fault.error < 0 ? &look->fault : &keeper->known.fault;
        /* If the host cannot be read, the status is that of the last look and says so. */
        const Look *now = look->fault.error < 0 ? keeper->known.look : look;
        StatusInput input = look_status_input(now, keeper->known.look->plan);

        input.is_working = keeper->round.apply || is_retrying;
        input.phase = keeper->is_held_back  ? "held back (rescue mode)"
                      : keeper->round.apply ? "reserving"
                      : is_retrying         ? "retrying"
                                            : "idle";
        input.attempts = &keeper->round.attempts;
        Status *status = status_judge(arena, &input);

        if (now == look && !seen && !input.is_working && !keeper->is_held_back &&
            is_overtaken(input.plan, status))
                status = judge_overtaken(keeper, arena, look, &look_input, &input, status);
        diags_add_all(&status->problems, &keeper->known.look->host_problems);
        diags_add_all(&status->problems, &keeper->known.look->guard_problems);
        keeper_add_save_error(keeper, &status->problems);
        if (fault->error < 0) {
                const Diag diag = look_fault_diag(arena, fault);

                diags_add(&status->problems, &diag);
        }
        add_remembered(keeper, status);
        status->verdict = status_worst_verdict(status);
        return status;
}

Status *keeper_judge(const Keeper *keeper, Arena *arena, bool is_retrying) {
        return keeper_judge_by(keeper, arena, is_retrying, NULL);
}

Status *keeper_judge_round(Keeper *keeper, Arena *arena, bool is_retrying) {
        const Look *seen = keeper->known.is_new ? keeper->known.look : NULL;

        keeper->known.is_new = false;
        return keeper_judge_by(keeper, arena, is_retrying, seen);
}
