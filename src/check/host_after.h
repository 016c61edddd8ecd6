/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The host once the plan is applied, which `check` judges: an administrator must not be told to set by hand what the
 * plan sets. */

#include "plan/host_plan.h"
#include "read/overlay.h"
#include "units/dropin.h"

/* Returns the host's files (SOURCES) with what hugepland writes below /proc/sys and /sys besides the pools, what the generator
 * writes at the next `systemctl daemon-reload`, and what hugepland writes for logins. */
Overlay host_after(Arena *arena, const Sources *sources, const Config *config, const Plan *plan,
                   const HostWrites *writes, const Dropins *dropins);
