/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which unit a process belongs to, seen from the control groups: works in a sandbox that hides other
 * users' processes, and cannot be forged by users, who own control groups below user@.service only. */

#include "host/root.h"

#include <sys/types.h>

/* Whether PID is in the control group of the system service UNIT, or in its `.control` group, where
 * systemd puts ExecStartPre= of delegated units. False where nothing can be found out. */
bool unit_cgroup_has_process(const Root *root, const char *unit, pid_t pid);

/* Whether the system service UNIT has any process: it runs, or is about to. False where nothing can
 * be found out. */
bool unit_cgroup_is_populated(const Root *root, const char *unit);
