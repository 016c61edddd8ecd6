/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which transparent huge page policy the host gets, resolved over all instances. */

#include "config/config.h"
#include "model/host_write.h"
#include "model/topology.h"

enum { SYSTEMD_MEMORY_THP = 260 }; /* the version that has MemoryTHP=, systemd.exec(5) */

typedef struct ThpPlan {
        ThpPolicy policy;  /* THP_KEEP: nothing is touched */
        HostWrites writes; /* what has to be written for it, the global file first */
} ThpPlan;

/* [Host] auto: never, unless an instance or its engine declares that it needs more; then the
 * weakest policy that serves all. Without any instance nothing is touched. "never" in the global
 * file is not off: per-size files and those of shared memory that say otherwise are part of the plan
 * (transhuge.rst). With "always", defrag is kept from stalling page faults. Who is
 * displeased is added to PROBLEMS by name, unless SYSTEMD_VERSION (0: not known) serves it by its
 * unit. */
ThpPlan thp_plan_make(Arena *arena, const Config *config, const Topology *topology,
                      unsigned systemd_version, Diags *problems);

/* What the host gets for CONFIG; THP_KEEP: it is left as it is. */
ThpPolicy thp_resolve(const Config *config);

/* Whether a unit can have PREFERENCE by itself (MemoryTHP=, systemd 260) while the host has POLICY. */
bool thp_is_served_by_unit(ThpPolicy preference, ThpPolicy policy);

/* What an instance wants: its TransparentHugePages=, else what its version was learned to want, else
 * its engine's preference; THP_AUTO: nothing. */
ThpPolicy thp_preference_of(const InstanceConfig *instance);
