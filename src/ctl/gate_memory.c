/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/gate_memory.h"

#include "base/text.h"
#include "ctl/daemon_call.h"
#include "host/host_sources.h"
#include "host/unit_cgroup.h"
#include "units/memory_limit.h"

static MemoryUse use_of(const StatusInstance *instance, const char *group) {
        return (MemoryUse){instance->name, group,
                           mul_saturated(instance->pages_wanted, instance->page_size_bytes)};
}

/* This instance, the others of its unit, and those whose units run already: they may share a slice. */
static MemoryUses find_uses(Command *command, const Status *status, const StatusInstance *instance,
                            const char *own_group) {
        MemoryUses uses = {};

        *vec_push(command->arena, &uses) = use_of(instance, own_group);
        for (size_t i = 0; status && i < status->n_instances; i++) {
                const StatusInstance *other = &status->instances[i];

                if (!other->unit || text_equals(other->name, instance->name))
                        continue;
                const char *group =
                        text_equals(other->unit, instance->unit)
                                ? own_group
                                : unit_cgroup_running(command->root, command->arena, other->unit);

                if (group)
                        *vec_push(command->arena, &uses) = use_of(other, group);
        }
        return uses;
}

void gate_judge_memory(Command *command, const Status *status, StatusInstance *instance) {
        HostSources sources = host_sources(command->root);
        const char *group = instance->unit
                                    ? unit_cgroup_own(command->root, command->arena, instance->unit)
                                    : NULL;
        const char *why;

        if (!group || !verdict_lets_start(instance->verdict) ||
            !memory_limits_count_huge_pages(command->arena, &sources.sources))
                return;
        MemoryLimits limits = memory_limits_read(command->arena, &sources.sources,
                                                 unit_cgroup_hierarchy(command->root), group);

        if (limits.n == 0)
                return;
        MemoryUses uses =
                find_uses(command, status ? status : ask_status(command, &why), instance, group);
        Reason reason = memory_limits_judge(command->arena, &limits, &uses);

        if (reason.kind == REASON_NONE)
                return;
        instance->verdict = instance->shortage == SHORTAGE_DEGRADE ? VERDICT_DEGRADED
                                                                   : VERDICT_REFUSED;
        instance->reason = reason;
}
