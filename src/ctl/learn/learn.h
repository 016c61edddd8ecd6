/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Learning: finds out what instances with Memory=auto need, from the databases' own files, their
 * programs and what they have mapped. Before each start the database's gate does that, as its owner, and says it to
 * hugepland by Wait; for administrators, and before a reload, hugeplanctl does as root, and says it by Learn. Who keeps
 * it for the next boot is hugepland. */

#include "ctl/command.h"
#include "demand/learned.h"

/* Finds it out. A server that runs is not asked (it would refuse): what it has mapped tells. Programs
 * are run on the running host only; see inspect/ask.h. */
Lesson learn_find(Command *command, const InstanceConfig *instance, const Topology *topology);

/* What an administrator waits for it. */
#define LEARN_USEC (60 * USEC_PER_SEC)

/* For the gate of NAME: *RET is to be said to hugepland; without that it counts all the same (Command.found). False:
 * there is nothing to be said, for we are no gate of its unit, nothing is learned of it, or what was known before
 * counts, which is told. Takes a quarter of the time that the gate has at most, and no more than ten seconds. */
bool learn_for_start(Command *command, const char *name, Learned *ret);

/* Before a reload: for those that have learned nothing yet. */
void learn_for_reload(Command *command);
