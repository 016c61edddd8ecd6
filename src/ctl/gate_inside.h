/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Checks of the gate that are possible only from within the unit: a memory limit that the huge pages exceed
 * (units/memory_limit.h), with which the database would neither run nor fail; and a missing right to System V segments,
 * if the group did not exist when the drop-in was written (units/dropin.h). */

#include "ctl/command.h"

/* Makes INSTANCE refused, or degraded with Shortage=degrade, if a check of the starting unit fails. STATUS has the
 * other instances, which may run in the same slice; NULL: the daemon is queried if that matters. */
void gate_judge_inside(Command *command, const Status *status, StatusInstance *instance);

/* Warns in the unit's log if the given size of INSTANCE (Memory=, Pages=) is too small, by the answer of the server
 * before this start or by what the unit has mapped with these settings. */
void gate_warn_of_size(Command *command, const StatusInstance *instance);
