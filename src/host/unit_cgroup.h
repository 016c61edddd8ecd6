/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which unit a process belongs to, seen from the control groups: works in a sandbox that hides other
 * users' processes, and cannot be forged by users, who own control groups below user@.service only. */

#include "base/index.h"
#include "host/root.h"

#include <sys/types.h>

/* Whether PID is in the control group of the system service UNIT, or in its `.control` group, where
 * systemd puts ExecStartPre= of delegated units. False where nothing can be found out. */
bool unit_cgroup_has_process(const Root *root, const char *unit, pid_t pid);

/* The control group of UNIT, in whichever hierarchy systemd has it, allocated in ARENA; NULL: it has
 * none, so it does not run. An empty one may be between two commands of a unit. */
const char *unit_cgroup_find(const Root *root, Arena *arena, const char *unit);

/* The same of all services, by their names: for who asks for many. */
Index *unit_cgroup_all(const Root *root, Arena *arena);

/* Whether the system service UNIT has any process: it runs, or is about to. False where nothing can
 * be found out. */
bool unit_cgroup_is_populated(const Root *root, const char *unit);
/* The same of its control GROUP. */
bool unit_cgroup_group_is_populated(const Root *root, const char *group);

/* The control group of UNIT in the unified hierarchy, allocated in ARENA, where it has any process;
 * NULL: it has none. */
const char *unit_cgroup_running(const Root *root, Arena *arena, const char *unit);

/* Where the unified hierarchy is mounted, on a hybrid host too; NULL: it is not. */
const char *unit_cgroup_hierarchy(const Root *root);
