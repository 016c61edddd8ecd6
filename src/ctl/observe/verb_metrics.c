/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `metrics`: the status, and how databases use their pages, for a monitoring system. */
#include "ctl/observe/observe.h"
#include "ctl/verbs.h"
#include "model/exit_code.h"

#include <stdio.h>

Metrics metrics_now(Command *command) {
        const Status *status = status_now(command, NULL);
        const Proofs proofs = observe(command, status, NULL);
        bool is_reached = !TEXT_IS_ANY(status->phase, "no daemon", "switched off");

        return metrics_of(command->arena, status, &proofs, is_reached);
}

int verb_metrics(Command *command) {
        const Metrics metrics = metrics_now(command);

        if (command->json != JSON_OFF && command->n_arguments == 0) {
                print_json(command, json_pack("{so so}", "metrics", metrics_to_json(&metrics),
                                              "families", metric_families_to_json(&metrics)));
                return EXIT_DONE;
        }
        const char *text = metrics_to_text(command->arena, &metrics);

        return command->n_arguments == 1 ? write_output(command, command->arguments[0], text)
               : fputs(text, stdout) < 0 ? EXIT_FAILED
                                         : EXIT_DONE;
}
