/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `plan`: what a reload would write or why it would be refused; writes nothing. */
#include "ctl/verbs.h"

#include "model/exit_code.h"
#include "render/status_json.h"
#include "render/views.h"
#include "status/pending.h"

#include <stdio.h>

/* Only a running daemon refuses a reload; a daemon that starts reserves as much as it can. */
static const char *find_refusal(Command *command, const Look *look, Diags *problems) {
        const char *why;
        const Status *now = ask_status(command, &why);

        if (!now)
                return NULL;
        falls_find(now, look_plan_restarted(command->arena, command->root, look), look->plan,
                   problems);
        if (diags_count(&look->config->problems, SEVERITY_ERROR) > 0)
                return "A reload would be refused: the configuration has mistakes.";
        return problems->list.n == 0
                       ? NULL
                       : "A reload would be refused; see 'hugeplanctl reload --force'.";
}

int verb_plan(Command *command) {
        const Look *look = local_load(command, true, NULL);

        if (look->fault.error < 0)
                return EXIT_FAILED; /* the caller logs the fault */
        Diags problems = diags_in(command->arena);
        const char *refusal = find_refusal(command, look, &problems);
        bool is_met = !refusal && plan_count_changed(look->plan) == 0 && look->host.writes.n == 0 &&
                      !ARRAY_ANY(instance, look->plan->instances, look->plan->n_instances,
                                 plan_reason(instance)->kind != REASON_NONE);

        look_add_problems(look, &problems);
        if (command->json != JSON_OFF) {
                print_json(command, plan_to_json(look->plan, &look->host, &problems));
                return is_met ? EXIT_DONE : EXIT_NOT_READY;
        }
        fputs(render_plan(command->arena, look->plan, &look->host, look->config, &command->render),
              stdout);
        if (problems.list.n > 0)
                printf("\n%s", render_problems(command->arena, &problems, &command->render));
        if (refusal)
                printf("\n%s\n", refusal);
        return is_met ? EXIT_DONE : EXIT_NOT_READY;
}
