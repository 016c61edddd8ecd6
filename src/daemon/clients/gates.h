/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Gates: clients who wait until their instance's pages stand. */

#include "daemon/clients/client.h"

/* The method Wait. */
void gate_wait(VarlinkCall *call, json_t *parameters, void *userdata);
/* Before the first of those is tried who are tried in one go, for each of them. */
void gate_begin(Client *client);
/* Units have been read anew: who starts is asked of systemd again, with the policy that it starts with now. */
void gates_ask_again(Manager *manager);
/* Looks whether the gate can be answered; else it waits on. True: a round is wanted for it. CLIENT may be gone then. */
bool gate_try(Client *client, GateView *view);
/* After the last, for those who are answered; ends the client. Whether it starts. */
bool gate_answer(Client *client);
