/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Why a reload is refused: instances that run, or may start, and could not start any more after it. The daemon refuses
 * by this, and `hugeplanctl plan` says the same before. */

#include "status/status.h"

/* By what it would plan with the units that run (NEXT), and as if all of these had been stopped (RESTARTED), for a
 * unit has to start again one day. An instance that is described no longer does not matter. BEFORE: as it is now. */
void falls_find(const Status *before, const Plan *restarted, const Plan *next, Diags *falls);

/* The same of one instance, of which it is known why it does not start. An instance whose pages were lost before loses
 * nothing by a reload. */
void falls_add(const StatusInstance *was, const Reason *reason, Diags *falls);
