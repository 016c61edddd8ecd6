/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `plan`: what would be written; writes nothing. */
#include "ctl/verbs.h"
#include "host/host_plan_read.h"
#include "model/exit_code.h"
#include "render/render_plan.h"
#include "render/status_json.h"

#include <stdio.h>

int verb_plan(Command *command) {
        Local local = local_load(command);

        if (local.look->fault.error < 0)
                return EXIT_FAILED; /* it is told in the end */
        Diags problems = local.config->problems;
        HostPlan host = host_plan_read(command->root, command->arena, local.config, local.plan,
                                       local.topology, &problems);
        bool is_met = plan_count_changed(local.plan) == 0 && host_plan_count(&host) == 0;

        diags_add_all(&problems, &local.guard_problems);
        VEC_FOREACH(exposure, &local.plan->exposures)
                status_add_exposure(exposure, &problems);
        for (size_t i = 0; i < local.plan->n_instances; i++)
                is_met = is_met && plan_reason(&local.plan->instances[i])->kind == REASON_NONE;
        if (command->json != JSON_OFF) {
                print_json(command, plan_to_json(local.plan, local.after_reload, &host));
        } else {
                fputs(render_plan(command->arena, local.plan, &host, local.config,
                                  &command->render),
                      stdout);
                if (local.after_reload)
                        fputs(render_plan_after_reload(command->arena, local.after_reload,
                                                       &command->render),
                              stdout);
                if (problems.list.n > 0)
                        printf("\n%s",
                               render_problems(command->arena, &problems, &command->render));
        }
        return is_met ? EXIT_DONE : EXIT_NOT_READY;
}
