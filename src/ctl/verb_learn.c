/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `learn NAME`: finds out what an instance with Memory=auto needs, for hugeplan-ask@.service.
 *
 * Ordered before the database by its drop-in. What it finds is kept and told to the daemon; the gate, which
 * runs as the unit's own user, then waits for it. */
#include "ctl/learn.h"
#include "ctl/verbs.h"
#include "host/log.h"
#include "model/exit_code.h"

#include <unistd.h>

/* What systemd gives the unit is more. */
static const uint64_t learn_usec = 60 * USEC_PER_SEC;

int verb_learn(Command *command) {
        const char *name = command->arguments[0];
        const Config *config = read_config(command);

        if (is_switched_off(command))
                return EXIT_AS_WISHED;
        if (!config_find(config, name))
                return fail_no_instance(command, name, config);
        if (root_is_host(command->root) && geteuid() != 0) {
                log_line(LOG_ERR, "learn is for root: it asks databases as their owners, and keeps "
                                  "what they say in /etc/hugeplan.d");
                return EXIT_FAILED;
        }
        learn_before_start(command, name,
                           command->has_timeout ? command->timeout_usec : learn_usec);
        return EXIT_AS_WISHED;
}
