/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/gate_memory.h"

#include "core/memory_limit.h"
#include "host/host_sources.h"
#include "host/unit_cgroup.h"

void gate_judge_memory(Command *command, StatusInstance *instance) {
        HostSources sources = host_sources(command->root);
        const char *group = instance->unit
                                    ? unit_cgroup_own(command->root, command->arena, instance->unit)
                                    : NULL;

        if (!group || !verdict_lets_start(instance->verdict) ||
            !memory_limits_count_huge_pages(command->arena, &sources.sources))
                return;
        MemoryLimits limits = memory_limits_read(command->arena, &sources.sources,
                                                 unit_cgroup_hierarchy(command->root), group);
        Reason reason = memory_limits_judge(
                command->arena, &limits,
                mul_saturated(instance->pages_wanted, instance->page_size_bytes));

        if (reason.kind == REASON_NONE)
                return;
        instance->verdict = instance->shortage == SHORTAGE_DEGRADE ? VERDICT_DEGRADED
                                                                   : VERDICT_REFUSED;
        instance->reason = reason;
}
