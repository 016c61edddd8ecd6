/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `plan`: what would be written; writes nothing. */
#include "ctl/verbs.h"

#include "model/exit_code.h"
#include "render/render_plan.h"
#include "render/status_json.h"

#include <stdio.h>

int verb_plan(Command *command) {
        const Look *look = local_load(command);

        if (look->fault.error < 0)
                return EXIT_FAILED; /* it is told in the end */
        Diags problems = look->config->problems;
        bool is_met = plan_count_changed(look->plan) == 0 && host_plan_count(&look->host) == 0 &&
                      !ARRAY_ANY(instance, look->plan->instances, look->plan->n_instances,
                                 plan_reason(instance)->kind != REASON_NONE);

        diags_add_all(&problems, &look->host_problems);
        diags_add_all(&problems, &look->guard_problems);
        VEC_FOREACH(exposure, &look->plan->exposures)
                status_add_exposure(exposure, &problems);

        if (command->json != JSON_OFF) {
                print_json(command, plan_to_json(look->plan, look->after_reload, &look->host));
        } else {
                fputs(render_plan(command->arena, look->plan, &look->host, look->config,
                                  &command->render),
                      stdout);
                if (look->after_reload)
                        fputs(render_plan_after_reload(command->arena, look->after_reload,
                                                       &command->render),
                              stdout);
                if (problems.list.n > 0)
                        printf("\n%s",
                               render_problems(command->arena, &problems, &command->render));
        }
        return is_met ? EXIT_DONE : EXIT_NOT_READY;
}
