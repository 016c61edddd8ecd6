/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/host_plan_read.h"

#include "host/unit_facts.h"

HostPlan host_plan_read(const Root *root, Arena *arena, const Config *config, const Plan *plan,
                        const Topology *topology, Diags *problems) {
        const Accounts accounts = accounts_for_limits(root, arena, config);
        const HostPlanInput input = {
                .config = config,
                .plan = plan,
                .topology = topology,
                .systemd_version = systemd_version(root, config),
                .accounts = &accounts,
        };

        return host_plan_make(arena, &input, problems);
}
