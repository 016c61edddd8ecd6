/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Looks at what the processes of an instance's unit have mapped while it runs, by an administrator's hand: where nothing
 * counts for the unit, or it has small pages, the daemon cannot know (keeper/keeper_seen.c). It takes the right to trace
 * others' processes. What is seen is kept for the next start (demand/seen.h). */

#include "ctl/command.h"

/* What INSTANCE's unit has mapped now; no pages where it does not run, has mapped nothing, or nothing of it can be
 * believed. *RET_WHY (may be NULL): why not, as a sentence, where there is more to say than that. */
Seen look_at_unit(Command *command, const InstanceConfig *instance, const Topology *topology,
                  const char **ret_why);

/* Keeps of NOW what is new; says in the log what that is. False where there is nothing, or it cannot be written. */
bool look_keep(Command *command, const InstanceConfig *instance, const Seen *now);
