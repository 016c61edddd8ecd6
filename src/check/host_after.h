/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The host as it will be once this plan is applied: what `check` judges. Who is told to set by hand what
 * the plan is about to set does it twice, and then wrong. */

#include "plan/host_plan.h"
#include "read/overlay.h"
#include "units/dropin.h"

typedef struct HostAfterInput {
        const Sources *sources; /* the host as it is */
        const Config *config;
        const Plan *plan;
        const HostPlan *host;
        const Dropins *dropins;
} HostAfterInput;

/* The host's files with what hugepland writes below /proc/sys and /sys besides the pools, what the
 * generator writes at the next `systemctl daemon-reload`, and what hugepland writes for logins. */
Overlay host_after(Arena *arena, const HostAfterInput *input);
