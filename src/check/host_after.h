/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The host once the plan is applied, which `check` judges: an administrator must not be told to set by hand what the
 * plan sets. */

#include "plan/host_plan.h"
#include "read/overlay.h"
#include "units/dropin.h"

typedef struct HostAfterInput {
        const Sources *sources; /* the present host */
        const Config *config;
        const Plan *plan;
        const HostPlan *host;
        const Dropins *dropins;
} HostAfterInput;

/* Returns the host's files with what hugepland writes below /proc/sys and /sys besides the pools, what the generator
 * writes at the next `systemctl daemon-reload`, and what hugepland writes for logins. */
Overlay host_after(Arena *arena, const HostAfterInput *input);
