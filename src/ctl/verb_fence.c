/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `fence NAME`: keeps the unit of an instance to its own huge pages (Isolate=; units/fence.h).
 *
 * Runs as root as the last ExecStartPre= of the unit, behind the gate, which may just have had the
 * reservation grow. What cannot be fenced starts all the same, loudly, but where Isolate=yes. */
#include "base/text.h"
#include "ctl/verbs.h"
#include "host/cgroup_fence.h"
#include "host/log.h"
#include "host/probe.h"
#include "host/unit_cgroup.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "units/fence.h"

#include <stdio.h>

/* Without a daemon nothing was granted, but the gate has found that what is wanted is free. */
static PageCounts find_limits(Command *command, const char *unit) {
        const char *why = NULL;
        const Status *said = ask_status(command, &why);

        if (said)
                return fence_limits(command->arena, probe_topology(command->root, command->arena),
                                    said, unit, false);
        Local local = local_load(command);

        log_line(LOG_WARNING, "hugepland cannot be reached (%s); going by the configuration", why);
        return fence_limits(command->arena, local.topology,
                            local_status(command, &local, "no daemon"), unit, true);
}

static Reason put_up(Command *command, const char *unit, PageCounts *ret_limits) {
        Reason reason = cgroup_fence_judge(command->root);
        const char *group = unit_cgroup_own(command->root, command->arena, unit);

        if (reason.kind != REASON_NONE)
                return reason;
        if (!group)
                return (Reason){REASON_NO_FENCE, "this is not a process of that unit",
                                "leave it to the unit's ExecStartPre="};
        *ret_limits = find_limits(command, unit);
        if (ret_limits->n == 0)
                return (Reason){REASON_NO_FENCE, "hugepland does not know the unit yet",
                                "systemctl reload hugeplan"};
        return cgroup_fence_set(command->root, command->arena, group, ret_limits);
}

int verb_fence(Command *command) {
        const Config *config = read_config(command);
        const InstanceConfig *instance = config_find(config, command->arguments[0]);
        PageCounts limits = {};

        if (is_switched_off(command))
                return EXIT_AS_WISHED;
        if (!instance || !instance->unit)
                return fail_no_instance(command, command->arguments[0], config);
        TriState wish = fence_wish(config, instance->unit);

        if (wish == TRI_NO) /* since the drop-in was made */
                return EXIT_AS_WISHED;
        Reason reason = put_up(command, instance->unit, &limits);

        if (reason.kind == REASON_NONE) {
                printf("%s may take at most %s\n", instance->unit,
                       fence_format(command->arena, &limits));
                return EXIT_AS_WISHED;
        }
        log_line(wish == TRI_YES ? LOG_ERR : LOG_WARNING,
                 "%s: %s cannot be kept from the huge pages of others: %s%s%s", instance->name,
                 instance->unit, reason.text, reason.remedy ? "; " : "",
                 reason.remedy ? reason.remedy : "");
        return wish == TRI_YES ? EXIT_FAILED : EXIT_AS_WISHED;
}
