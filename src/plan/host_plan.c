/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/host_plan.h"

HostPlan host_plan_make(Arena *arena, const HostPlanInput *input, Diags *problems) {
        HostPlan plan = {
                .thp = thp_plan_make(arena, input->config, input->topology, input->systemd_version,
                                     problems),
                .limits = limits_plan_make(arena, input, problems),
        };

        vec_push_all(arena, &plan.writes, &plan.thp.writes);
        vec_push_all(arena, &plan.writes, &plan.limits);
        return plan;
}
