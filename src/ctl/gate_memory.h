/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A part of the gate: keeps a unit from starting into a limit of memory that its huge pages exceed
 * (units/memory_limit.h), for it would neither run nor fail. */

#include "ctl/command.h"

/* Where that is so for the unit that this process is about to start, INSTANCE becomes refused, or
 * degraded with Shortage=degrade. STATUS tells of the other instances, which may run in the same
 * slice; NULL: the daemon is asked, where that matters. */
void gate_judge_memory(Command *command, const Status *status, StatusInstance *instance);
