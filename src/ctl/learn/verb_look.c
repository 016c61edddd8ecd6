/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `look NAME [last]`: hugeplan-look@.service, which looks at what the processes of an instance's unit have mapped:
 * after its start, until that stays as it is, and before it stops (last). What it sees it says on standard output, a
 * line for each look: its standard streams are a connection to hugeplan-learn@.service (verb_listen.c).
 *
 * It has the one right to trace processes, without which the kernel does not show their mappings, is nobody
 * otherwise, and reads nothing but what the kernel says of them. */
#include "base/memory.h"
#include "base/size.h"
#include "base/text.h"
#include "ctl/learn/answer.h"
#include "ctl/learn/look.h"
#include "ctl/verbs.h"
#include "demand/seen_json.h"
#include "host/unit_cgroup.h"
#include "model/exit_code.h"
#include "runtime/log.h"

#include <string.h>
#include <unistd.h>

/* Programs map what they need within moments, or as late as somebody uses them: that is what the last look is
 * for. Seconds. */
static const unsigned pauses[] = {1, 2, 4, 8, 15, 30};

/* Systemd gives it 10 s to stop. */
static const uint64_t last_wait_usec = 5 * USEC_PER_SEC;

static int say(Command *command, const Seen *seen, bool is_last) {
        json_t *json = seen_to_json(command->arena, seen, is_last);
        char *text = json_dumps(json, JSON_COMPACT);
        int r = text ? answer_say(arena_printf(command->arena, "%s\n", text)) : -ENOMEM;

        memory_free(text);
        json_decref(json);
        return r;
}

/* A look of its own, with nothing left behind but what it has said. *RET_BYTES: what was seen. */
static int look_once(const Command *command, const char *name, bool is_last, uint64_t *ret_bytes) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Command now = *command;

        now.arena = arena;
        const InstanceConfig *instance = config_find(read_config(&now), name);

        *ret_bytes = 0;
        if (!instance || !instance_is_looked_at(instance))
                return 0;
        const Seen seen = look_now(&now, instance);

        *ret_bytes =
                VEC_SUM(count, &seen.pages, mul_saturated(count->pages, count->page_size_bytes));
        return seen_is_any(&seen) ? say(&now, &seen, is_last) : 0;
}

static int look_until_settled(const Command *command, const InstanceConfig *instance) {
        uint64_t before, now;
        int r = look_once(command, instance->name, false, &before);

        for (size_t i = 0; r == 0 && i < ARRAY_LEN(pauses); i++) {
                if (!unit_cgroup_is_populated(command->root, instance->unit))
                        return 0;
                sleep(pauses[i]);
                r = look_once(command, instance->name, false, &now);
                if (now > 0 && now == before)
                        return r;
                before = now;
        }
        if (r == 0 && before == 0)
                log_line(
                        LOG_NOTICE,
                        "%s has mapped no huge pages, nor shared memory of their size; it is looked at "
                        "again before it stops",
                        instance->name);
        return r;
}

static bool is_misused(const Command *command) {
        bool is_last = command->n_arguments == 2;

        if (is_last && !text_equals(command->arguments[1], "last"))
                log_line(LOG_ERR, "look takes the name of an instance, and 'last' before it stops");
        else if (root_is_host(command->root) && geteuid() == 0)
                log_line(LOG_ERR,
                         "look is for hugeplan-look@.service, and never as root; for root there is "
                         "'hugeplanctl learn'");
        else
                return false;
        return true;
}

int verb_look(Command *command) {
        const char *name = command->arguments[0];
        const Config *config = read_config(command);
        const InstanceConfig *instance = config_find(config, name);
        bool is_last = command->n_arguments == 2;
        uint64_t bytes;

        if (is_switched_off(command))
                return EXIT_DONE;
        if (is_misused(command))
                return EXIT_USAGE;
        if (!instance)
                return fail_no_instance(command, name, config);
        if (!instance_is_looked_at(instance))
                return EXIT_DONE;
        int r = is_last ? look_once(command, name, true, &bytes)
                        : look_until_settled(command, instance);

        if (is_last && r == 0)
                answer_wait_for_use(last_wait_usec);
        if (r == 0)
                return EXIT_DONE;
        log_line(LOG_ERR, "%s: what it has mapped cannot be said to hugeplan-learn@.service: %s",
                 name, strerror(-r));
        return EXIT_FAILED;
}
