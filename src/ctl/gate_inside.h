/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A part of the gate: what only it can see, from within the unit. A limit of memory that its huge pages exceed
 * (units/memory_limit.h): it would neither run nor fail. No right to System V segments, for want of the group whose
 * line the unit's drop-in is without then (units/dropin.h). */

#include "ctl/command.h"

/* Where that is so for the unit that this process is about to start, INSTANCE becomes refused, or
 * degraded with Shortage=degrade. STATUS tells of the other instances, which may run in the same
 * slice; NULL: the daemon is asked, where that matters. */
void gate_judge_inside(Command *command, const Status *status, StatusInstance *instance);

/* Says in the log of who starts INSTANCE, whose size is given (Memory=, Pages=), that this is too little: by the
 * server's own word before this start, or by what its unit had mapped with these settings. */
void gate_warn_of_size(Command *command, const StatusInstance *instance);
