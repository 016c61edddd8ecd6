/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/falls.h"

#include "model/problem.h"

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
