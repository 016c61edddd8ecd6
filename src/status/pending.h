/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the next reload or boot will change, because the files on disk are no longer the configuration that the daemon
 * has read; and falls, for which a reload is refused: instances that run or can start now and could not start after it.
 * `hugeplanctl plan` shows them beforehand. */

#include "status/status.h"

/* FILES are the files as they are now; STATUS is that of the configuration in force, with all its problems. To these, adds
 * config-pending for mistakes in the files that are not among them yet: a reload would be refused, and at the next boot the
 * instances concerned would not start. Adds reload-pending for added, removed or changed instances and for [Host];
 * changed comments and blank lines do not count. If a daemon does not say what it has read, only names are compared. */
void pending_judge(const Config *files, Status *status);

/* Adds the instances of BEFORE (the current status) that could not start by one of two plans: with the units that run
 * (NEXT), or with none (RESTARTED), because each unit restarts some day. Unconfigured instances do not count. */
void falls_find(const Status *before, const Plan *restarted, const Plan *next, Diags *falls);

/* Adds the instance WAS, which could not start for REASON. Adds nothing if the instance cannot start now either, or if
 * its pages were lost before: a reload changes nothing for it. */
void falls_add(const StatusInstance *was, const Reason *reason, Diags *falls);
