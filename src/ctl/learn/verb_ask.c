/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ask NAME`: finds out what an instance needs, as the owner of its database, and says it on standard output: for
 * hugeplan-ask@.service, whose standard streams are a connection to hugeplan-learn@.service (verb_listen.c).
 *
 * It returns when that has made use of the answer, for the database is ordered after this one. */
#include "base/memory.h"
#include "ctl/learn/answer.h"
#include "ctl/learn/learn.h"
#include "ctl/verbs.h"
#include "demand/lesson_json.h"
#include "model/exit_code.h"
#include "runtime/log.h"

#include <unistd.h>

static char *find_answer(Command *command, const InstanceConfig *instance) {
        const Lesson lesson = learn_as_owner(command, instance);
        json_t *json = lesson_to_json(command->arena, &lesson);
        char *text = json_dumps(json, JSON_COMPACT);

        json_decref(json);
        return text;
}

static int say(Command *command, const InstanceConfig *instance) {
        bool is_due = instance_is_learning(instance) && learn_is_due(command, instance);
        char *answer = is_due ? find_answer(command, instance) : NULL;
        const char *text = is_due ? answer : LEARN_NOTHING;
        int r = text ? answer_say(text) : -EIO;

        memory_free(answer);
        return r;
}

int verb_ask(Command *command) {
        const char *name = command->arguments[0];
        const Config *config = read_config(command);
        const InstanceConfig *instance = config_find(config, name);

        if (is_switched_off(command))
                return EXIT_DONE;
        if (!instance)
                return fail_no_instance(command, name, config);
        if (root_is_host(command->root) && (geteuid() == 0 || getegid() == 0)) {
                log_line(LOG_ERR,
                         "ask is for hugeplan-ask@.service, as the database's owner and never "
                         "as root; for root there is 'hugeplanctl learn'");
                return EXIT_FAILED;
        }
        if (say(command, instance) < 0)
                return EXIT_FAILED;
        answer_wait_for_use(LEARN_USEC);
        return EXIT_DONE;
}
