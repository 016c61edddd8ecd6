/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Gates: clients who wait until their instance's pages stand. */

#include "daemon/clients/client.h"

/* The method Wait. */
void gate_wait(VarlinkCall *call, json_t *parameters, void *userdata);
/* VIEW is for all gates that are tried in one go, {} before the first. */
void gate_view_done(GateView *view); /* for CLEANUP() */
/* Looks whether the gate can be answered. While it has to wait the client lives on; true: a round is
 * wanted for it. */
bool gate_try(Client *client, GateView *view);
