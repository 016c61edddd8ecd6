/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Finds the units of processes by control groups. This works in a sandbox that hides other users' processes, and users
 * cannot forge it, because they own control groups below user@.service only. */

#include "base/index.h"
#include "host/root.h"

#include <sys/types.h>

/* Returns whether PID is in the control group of the system service UNIT, or in its `.control` group, where
 * systemd puts ExecStartPre= of delegated units. Returns false if the groups cannot be read. */
bool unit_cgroup_has_process(const Root *root, const char *unit, pid_t pid);

/* Returns the control group of UNIT in systemd's hierarchy, allocated in ARENA, or NULL if there is none, because the
 * unit does not run. The group may be empty between two commands of a unit. */
const char *unit_cgroup_find(const Root *root, Arena *arena, const char *unit);

/* Returns the control groups of all services by name, to be read once for many units. */
Index *unit_cgroup_all(const Root *root, Arena *arena);

/* Returns whether the system service UNIT has any process, that is, runs or is about to. Returns false if
 * the groups cannot be read. */
bool unit_cgroup_is_populated(const Root *root, const char *unit);
/* Returns the same for a unit's control GROUP. */
bool unit_cgroup_group_is_populated(const Root *root, const char *group);

/* Returns where the unified hierarchy is mounted, also on a hybrid host, or NULL if it is not mounted. */
const char *unit_cgroup_hierarchy(const Root *root);
