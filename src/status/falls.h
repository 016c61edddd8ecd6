/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Falls: why a reload is refused. Instances that run or can start now could not start after the reload. The daemon
 * refuses a reload with falls, and `hugeplanctl plan` shows them beforehand. */

#include "status/status.h"

/* Adds the instances of BEFORE (the current status) that could not start by one of two plans: with the units that run
 * (NEXT), or with none (RESTARTED), because each unit restarts some day. Unconfigured instances do not count. */
void falls_find(const Status *before, const Plan *restarted, const Plan *next, Diags *falls);

/* Adds the instance WAS, which could not start for REASON. Adds nothing if the instance cannot start now either, or if
 * its pages were lost before: a reload changes nothing for it. */
void falls_add(const StatusInstance *was, const Reason *reason, Diags *falls);
