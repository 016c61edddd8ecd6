/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the plan and the drop-ins depend on besides configuration and topology, read where something
 * depends on it: this is done for every status. */

#include "host/root.h"
#include "plan/host_plan.h"

/* The major version of systemd that is installed, by the name of its private library, since no
 * program can be asked; 0: not known, or nothing that CONFIG asks for depends on it. */
unsigned systemd_version(const Root *root, const Config *config);

/* None where no instance needs the group NAME_HUGETLB_GROUP. */
Accounts accounts_for_limits(const Root *root, Arena *arena, const Config *config);

/* What is to be written besides the pools; what stays unsolved is added to PROBLEMS. */
HostPlan host_plan_read(const Root *root, Arena *arena, const Config *config, const Plan *plan,
                        const Topology *topology, Diags *problems);
