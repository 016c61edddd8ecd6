/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The methods of org.hugeplan.Manager, and the clients that wait for their answers. */

#include "daemon/manager.h"

extern const VarlinkInterface manager_interface;

/* Called when a round has ended: answers who can be answered. */
void clients_notify(Manager *manager);

/* Tells only those who want every change. */
void clients_notify_subscribers(Manager *manager);

/* Between two writes: lets those gates through whose instance is whole already. */
void clients_notify_gates(Manager *manager);

/* Ends all clients without an answer, when the daemon stops. */
void clients_drop(Manager *manager);
