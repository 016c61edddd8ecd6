/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Looks at what an instance's unit has mapped while it runs, and keeps it for the next start (demand/seen.h). */

#include "ctl/command.h"

/* What INSTANCE's unit has mapped now; no pages where it does not run, has mapped nothing, or nothing of it can be
 * believed. *RET_WHY (may be NULL): why not, as a sentence, where there is more to say than that. */
Seen look_at_unit(Command *command, const InstanceConfig *instance, const Topology *topology,
                  const char **ret_why);

/* Looks, and keeps what is new; says in the log what that is. IS_LAST: it is about to stop. Gives what was seen just
 * now. */
Seen look_and_keep(Command *command, const InstanceConfig *instance, bool is_last);
