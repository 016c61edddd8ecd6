/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `metrics`: the status, and what databases make of their pages, for a monitoring system. */
#include "ctl/observe/observe.h"
#include "ctl/verbs.h"
#include "model/exit_code.h"
#include "render/render_metrics.h"

#include <stdio.h>

int verb_metrics(Command *command) {
        const Config *config;
        const Status *status = status_now(command, &config);
        const Proofs proofs =
                observe(command, status, config ? config : read_config(command), NULL);
        bool is_reached = !TEXT_IS_ANY(status->phase, "no daemon", "switched off");

        fputs(render_metrics(command->arena, status, &proofs, is_reached), stdout);
        return EXIT_DONE;
}
