/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Learning: finds out what instances with Memory=auto need, from the databases' own files, their
 * programs and what they have mapped, and keeps it for the next boot. Done by hugeplanctl as root,
 * before each start and before a reload; the daemon only ever reads it. */

#include "ctl/command.h"
#include "demand/learned.h"

/* Finds it out. A server that runs is not asked (it would refuse): what it has mapped tells. Programs
 * are run on the running host only; see inspect/ask.h. */
Lesson learn_find(Command *command, const InstanceConfig *instance, const Topology *topology);

/* Before a database starts, from our own unit: finds out, keeps and has the reservation grown, all of it
 * within TIMEOUT_USEC or so. Says what matters in the log. Whatever fails, the gate goes on with what was
 * known before. */
void learn_before_start(Command *command, const char *name, uint64_t timeout_usec);

/* Before a reload: for those that have learned nothing yet. */
void learn_for_reload(Command *command);
