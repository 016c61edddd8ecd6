/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Learning: finds the size of instances with Memory=auto, from the databases' files, their programs and what they have
 * mapped. Before each start the gate does that as the database's owner and reports the size to hugepland with Wait. For
 * an administrator, and before a reload, hugeplanctl does it as root and reports with Learn. hugepland stores the size
 * for the next boot. */

#include "ctl/command.h"
#include "demand/learned.h"

/* Finds the size of INSTANCE. A running server cannot be asked, because its program would refuse to start; its mappings
 * are used instead. Programs are run only on the running host; see inspect/ask.h. */
Lesson learn_find(Command *command, const InstanceConfig *instance, const Topology *topology);

/* The pages that the unit of INSTANCE, one of CONFIG, has mapped now; none if it does not run, has mapped nothing, or its
 * mappings cannot be attributed. *RET_WHY is set to a sentence with the reason, or NULL. If the kernel does not count for
 * the unit, or the database has small pages, the daemon cannot know the size (keeper/keeper_seen.c). This requires the
 * right to trace other users' processes. */
Seen look_at_unit(Command *command, const Config *config, const InstanceConfig *instance,
                  const Topology *topology, const char **ret_why);

/* For the gate of NAME: sets *RET to the size to be reported to hugepland; without a daemon it is used as well
 * (Command.found). Returns false if there is nothing to report: this is no gate of the instance's unit, nothing is
 * learned for the instance, or the last known size is used, which is logged. Takes at most a quarter of the gate's
 * time, and ten seconds. */
bool learn_for_start(Command *command, const char *name, Learned *ret);

/* Before a reload: learns the sizes of instances that have none yet. */
void learn_for_reload(Command *command);
