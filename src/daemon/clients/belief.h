/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is said of how much a database takes, and who is believed: of a unit that starts, the process that systemd has
 * as its control or main process, once for each start; of a database that starts again within its unit, a process of
 * that unit and of its user, at most every ten seconds; and root. Everybody else waits like anybody, and what he says
 * counts for nothing. */

#include "daemon/clients/client.h"
#include "units/loaded_unit.h"

/* CLIENT is a gate, and UNIT, where it starts or runs, what systemd says of it (NULL: of its group there is no more than
 * that it starts): what CLIENT has said counts from beliefs_adopt() on, or is told to be ignored. */
void belief_take(Client *client, const LoadedUnit *unit);

/* What clients were believed since the last time counts from now on, and a round is run where that takes one, so that
 * clients may be gone then. It is kept, by the files of the configuration, at which one look is for all of them. */
void beliefs_adopt(Manager *manager);

/* Somebody has said it who does not start. */
void belief_ignore(const Client *client, const char *why);

/* The method Learn. */
void belief_learn(VarlinkCall *call, json_t *parameters, void *userdata);
