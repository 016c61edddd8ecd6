/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Looks at what an instance's unit has mapped while it runs, and keeps it for the next start (demand/seen.h). To look
 * takes the right to trace others' processes, and to keep it that to write to /etc/hugeplan.d: by an administrator's
 * hand both is done by hugeplanctl as root; beside a unit that starts or stops the one is hugeplan-look@.service,
 * which is nobody, and the other hugeplan-learn@.service, which is root without a capability. */

#include "ctl/command.h"

/* How long one who looks may take in all, and what he says be waited for. */
#define LOOK_USEC (5 * 60 * USEC_PER_SEC)

/* What INSTANCE's unit has mapped now; no pages where it does not run, has mapped nothing, or nothing of it can be
 * believed. *RET_WHY (may be NULL): why not, as a sentence, where there is more to say than that. */
Seen look_at_unit(Command *command, const InstanceConfig *instance, const Topology *topology,
                  const char **ret_why);

/* Looks, and says in the log why what was seen is not kept, where there is more to say. */
Seen look_now(Command *command, const InstanceConfig *instance);

/* Keeps of NOW what is new; says in the log what that is. IS_LAST: it is about to stop. False where there is nothing, or it
 * cannot be written. */
bool look_keep(Command *command, const InstanceConfig *instance, const Seen *now, bool is_last);

/* Keeps what hugeplan-look@.service has said of an instance: ANSWER of SIZE bytes, a line for each look, of which the
 * last one counts. WRONG: why there is none; else NULL. */
void look_answer(Command *command, const char *name, const char *answer, size_t size,
                 const char *wrong, uint64_t timeout_usec);
