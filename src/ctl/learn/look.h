/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Looks at the mappings of a running unit's processes, on an administrator's request: if the kernel does not count for
 * the unit, or the database has small pages, the daemon cannot know the size (keeper/keeper_seen.c). This requires the
 * right to trace other users' processes. The size is stored for the next start (demand/seen.h). */

#include "ctl/command.h"

/* The pages that INSTANCE's unit has mapped now; none if it does not run, has mapped nothing, or its mappings cannot be
 * attributed. *RET_WHY (may be NULL) is set to a sentence with the reason, if there is one. */
Seen look_at_unit(Command *command, const InstanceConfig *instance, const Topology *topology,
                  const char **ret_why);

/* Stores and logs what is new in NOW. Returns false if nothing is new or it cannot be stored. */
bool look_keep(Command *command, const InstanceConfig *instance, const Seen *now);
