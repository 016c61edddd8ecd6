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

typedef VEC(uint64_t) ProcessIds;

/* The processes of the control group GROUP of a unit (NULL: none) and of those below it, each group's in the kernel's
 * order, in which they joined it (of a legacy hierarchy: by number). Without what systemd runs for it (".control"). */
ProcessIds unit_cgroup_processes(const Root *root, Arena *arena, const char *group);

/* Whether this process is of UNIT, be control groups mounted where it runs or not. */
bool unit_cgroup_is_own(const Root *root, const char *unit);

/* The control group of UNIT in the unified hierarchy, when this very process runs in it or below, as
 * ExecStartPre= does: "/sys/fs/cgroup/system.slice/mariadb.service", the unit's own also where its
 * processes are in subgroups (Delegate=). UNIT may be an alias. NULL where it runs elsewhere. */
char *unit_cgroup_own(const Root *root, Arena *arena, const char *unit);

/* The control group of UNIT in the unified hierarchy, allocated in ARENA, where it has any process;
 * NULL: it has none. */
const char *unit_cgroup_running(const Root *root, Arena *arena, const char *unit);

/* Where the unified hierarchy is mounted, on a hybrid host too; NULL: it is not. */
const char *unit_cgroup_hierarchy(const Root *root);
