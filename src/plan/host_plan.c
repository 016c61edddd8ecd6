/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/host_plan.h"

HostPlan host_plan_make(Arena *arena, const HostPlanInput *input, Diags *problems) {
        const LimitsInput limits = {
                .config = input->config,
                .plan = input->plan,
                .topology = input->topology,
                .accounts = input->accounts,
        };

        return (HostPlan){
                .thp = thp_plan_make(arena, input->config, input->topology, input->systemd_version,
                                     problems),
                .limits = limits_plan_make(arena, &limits, problems),
        };
}

char *host_write_format(Arena *arena, const HostWrite *write) {
        return arena_printf(arena, "%s: %s -> %s", write->path,
                            write->before ? write->before : "not known", write->value);
}

size_t host_plan_count(const HostPlan *plan) {
        return plan->thp.writes.n + plan->limits.writes.n;
}
