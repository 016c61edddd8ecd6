/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The processes of a unit, and whether this one is among them. */

#include "host/unit_cgroup.h"

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
