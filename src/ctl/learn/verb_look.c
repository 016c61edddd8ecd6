/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `look NAME [last]`: hugeplan-look@.service, which looks at what the processes of an instance's unit have mapped:
 * after its start, until that stays as it is, and before it stops (last).
 *
 * It is root with the one right to trace processes, and reads nothing but what the kernel says of them. */
#include "base/text.h"
#include "ctl/learn/look.h"
#include "ctl/verbs.h"
#include "demand/seen.h"
#include "host/unit_cgroup.h"
#include "model/exit_code.h"
#include "runtime/log.h"

#include <unistd.h>

/* Programs map what they need within moments, or as late as somebody uses them: that is what the last look is
 * for. Seconds. */
static const unsigned pauses[] = {1, 2, 4, 8, 15, 30};

/* A look of its own, with nothing left behind but what it has written. */
static uint64_t look_once(const Command *command, const char *name, bool is_last) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Command now = *command;

        now.arena = arena;
        const InstanceConfig *instance = config_find(read_config(&now), name);

        if (!instance || !instance_is_looked_at(instance))
                return 0;
        const Seen seen = look_and_keep(&now, instance, is_last);

        return VEC_SUM(count, &seen.pages, mul_saturated(count->pages, count->page_size_bytes));
}

static void look_until_settled(const Command *command, const InstanceConfig *instance) {
        uint64_t before = look_once(command, instance->name, false);

        ARRAY_FOREACH(pause, pauses, ARRAY_LEN(pauses)) {
                if (!unit_cgroup_is_populated(command->root, instance->unit))
                        return;
                sleep(*pause);
                uint64_t now = look_once(command, instance->name, false);

                if (now > 0 && now == before)
                        return;
                before = now;
        }
        if (before == 0)
                log_line(
                        LOG_NOTICE,
                        "%s has mapped no huge pages, nor shared memory of their size; it is looked at "
                        "again before it stops",
                        instance->name);
}

int verb_look(Command *command) {
        const char *name = command->arguments[0];
        bool is_last = command->n_arguments == 2;
        const Config *config = read_config(command);
        const InstanceConfig *instance = config_find(config, name);

        if (is_switched_off(command))
                return EXIT_DONE;
        if (is_last && !text_equals(command->arguments[1], "last")) {
                log_line(LOG_ERR, "look takes the name of an instance, and 'last' before it stops");
                return EXIT_USAGE;
        }
        if (!instance)
                return fail_no_instance(command, name, config);
        if (!instance_is_looked_at(instance))
                return EXIT_DONE;
        if (is_last)
                look_once(command, name, true);
        else
                look_until_settled(command, instance);
        return EXIT_DONE;
}
