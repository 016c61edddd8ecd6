/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `plan`: what a reload would write or why it would be refused; writes nothing. */
#include "ctl/verbs.h"

#include "model/exit_code.h"
#include "render/status_json.h"
#include "render/views.h"
#include "runtime/log.h"
#include "status/pending.h"

#include <stdio.h>

int verb_plan(Command *command) {
        Arena *arena = command->arena;
        const Look *look = local_load(command, true, NULL);

        if (look->fault.error < 0)
                return EXIT_FAILED; /* the caller logs the fault */
        says_aside(command, LOG_NOTICE);
        Diags problems = diags_in(arena);
        const char *refusal = NULL, *why;
        /* Only a running daemon refuses a reload; a daemon that starts reserves as much as it can. */
        const Status *now = ask_status(command, &why);

        if (now)
                falls_find(now, look_plan_restarted(arena, command->root, look), look->plan,
                           &problems);
        if (now && diags_count(&look->config->problems, SEVERITY_ERROR) > 0)
                refusal = "A reload would be refused: the configuration has mistakes.";
        else if (problems.list.n > 0)
                refusal = "A reload would be refused; see 'hugeplanctl reload --force'.";
        bool is_met = !refusal && plan_count_changed(look->plan) == 0 && look->host.writes.n == 0 &&
                      !ARRAY_ANY(instance, look->plan->instances, look->plan->n_instances,
                                 plan_reason(instance)->kind != REASON_NONE);

        look_add_problems(look, &problems);
        if (command->json != JSON_OFF) {
                print_json(command, plan_to_json(look->plan, &look->host, &problems));
                return is_met ? EXIT_DONE : EXIT_NOT_READY;
        }
        fputs(render_plan(arena, look->plan, &look->host, look->config, &command->render), stdout);
        if (problems.list.n > 0)
                printf("\n%s", render_problems(arena, &problems, &command->render));
        if (refusal)
                printf("\n%s\n", refusal);
        return is_met ? EXIT_DONE : EXIT_NOT_READY;
}
