/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The transparent huge page policy of the host, resolved over all instances. */

#include "config/config.h"
#include "model/host_write.h"
#include "model/topology.h"

typedef struct ThpPlan {
        ThpPolicy policy;  /* THP_KEEP: nothing is changed */
        HostWrites writes; /* of that policy, the global file first */
} ThpPlan;

/* Returns the plan. For auto in [Host] the policy is never, unless an instance or its engine declares that it needs
 * more; then the weakest policy that serves all. Without instances nothing is changed. "never" in the global file does
 * not disable the per-size files and those of shared memory: if they differ, they are part of the plan (transhuge.rst).
 * With "always", defrag is kept from stalling page faults. PROBLEMS names instances that are not served, unless
 * SYSTEMD_VERSION (0: not known) serves them by their unit. */
ThpPlan thp_plan_make(Arena *arena, const Config *config, const Topology *topology,
                      unsigned systemd_version, Diags *problems);
