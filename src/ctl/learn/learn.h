/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Learning: finds out what instances with Memory=auto need, from the databases' own files, their
 * programs and what they have mapped, and keeps it for the next boot. Before each start it is found out by
 * the owner himself (hugeplan-ask@.service) and kept by root (hugeplan-learn@.service); for administrators, and
 * before a reload, both are done by hugeplanctl as root. The daemon only ever reads it. */

#include "ctl/command.h"
#include "demand/learned.h"

/* Finds it out. A server that runs is not asked (it would refuse): what it has mapped tells. Programs
 * are run on the running host only; see inspect/ask.h. */
Lesson learn_find(Command *command, const InstanceConfig *instance, const Topology *topology);

/* What an administrator waits for it, and hugeplan-learn@.service for an answer. */
#define LEARN_USEC (60 * USEC_PER_SEC)

/* Finds out, has the reservation grown and keeps it, all of it within TIMEOUT_USEC or so. Says what matters in the
 * log. Whatever fails, the gate goes on with what was known before. False: there was something to be found out, and the
 * next boot does not know it, or there is nothing. */
bool learn_now(Command *command, const char *name, uint64_t timeout_usec);

/* The same, as far as we may as the database's owner, without keeping it: what is to be said to
 * hugeplan-learn@.service. */
Lesson learn_as_owner(Command *command, const InstanceConfig *instance);

/* What the owner says where nothing is to be learned: he is asked by hand. JSON. */
#define LEARN_NOTHING "[]"

/* Whether the database is about to start, as far as that can be seen, or has nothing learned. While it runs it
 * has what it was started with. */
bool learn_is_due(const Command *command, const InstanceConfig *instance);

/* Keeps what that has said, and has the reservation grown: ANSWER of SIZE bytes, which the owner may have
 * written. WRONG: why there is none; else NULL. */
void learn_answer(Command *command, const char *name, const char *answer, size_t size,
                  const char *wrong, uint64_t timeout_usec);

/* Before a reload: for those that have learned nothing yet. */
void learn_for_reload(Command *command);
