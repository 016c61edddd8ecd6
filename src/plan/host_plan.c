/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/host_plan.h"

HostPlan host_plan_make(Arena *arena, const HostPlanInput *input, Diags *problems) {
        return (HostPlan){
                .thp = thp_plan_make(arena, input->config, input->topology, input->systemd_version,
                                     problems),
                .limits = limits_plan_make(arena, input, problems),
        };
}
