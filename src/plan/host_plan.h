/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The plan's writes besides the pools: transparent huge pages and the kernel's limits. */

#include "plan/limits.h"
#include "plan/thp_plan.h"

typedef struct HostPlan {
        ThpPlan thp;
        HostWrites limits;
        HostWrites writes; /* all of both */
} HostPlan;

/* Returns the plan for the host; adds what it does not solve to PROBLEMS. */
HostPlan host_plan_make(Arena *arena, const HostPlanInput *input, Diags *problems);

/* Returns "/sys/kernel/mm/transparent_hugepage/enabled: always -> never". */
char *host_write_format(Arena *arena, const HostWrite *write);
