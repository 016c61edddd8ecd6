/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `learn NAME`: finds out what an instance with Memory=auto needs, keeps it and tells the daemon, for
 * administrators. Before a start its gate does the same. */
#include "ctl/learn/learn.h"
#include "ctl/verbs.h"
#include "model/exit_code.h"
#include "runtime/log.h"

#include <unistd.h>

int verb_learn(Command *command) {
        const char *name = command->arguments[0];
        const Config *config = read_config(command);

        if (is_switched_off(command))
                return EXIT_DONE;
        if (!config_find(config, name))
                return fail_no_instance(command, name, config);
        if (root_is_host(command->root) && geteuid() != 0) {
                log_line(LOG_ERR, "learn is for root: it asks databases as their owners, and keeps "
                                  "what they say in /etc/hugeplan.d");
                return EXIT_FAILED;
        }
        uint64_t timeout_usec = command->has_timeout ? command->timeout_usec : LEARN_USEC;

        return learn_now(command, name, timeout_usec) ? EXIT_DONE : EXIT_FAILED;
}
