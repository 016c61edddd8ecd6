/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The host plan, with what it depends on besides configuration and topology. */

#include "host/root.h"
#include "plan/host_plan.h"

/* What is to be written besides the pools; what stays unsolved is added to PROBLEMS. */
HostPlan host_plan_read(const Root *root, Arena *arena, const Config *config, const Plan *plan,
                        const Topology *topology, Diags *problems);
