/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How units' processes have mapped their memory, by what /proc/PID/status shows everyone: proc_pid_status(5). */

#include "check/first_look.h"
#include "host/root.h"

/* One row for each unit that has processes. */
UnitMemories unit_memories_read(const Root *root, Arena *arena);
