/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The methods of org.hugeplan.Manager, and the clients that wait for their answers. */

#include "daemon/manager.h"
#include "ipc/varlink_server.h"

extern const VarlinkInterface manager_interface;

/* The manager's listener: between two writes it answers gates whose instance has all its pages already; it informs
 * subscribers; and it answers clients when a round has ended. */
void clients_notify(Manager *manager, ManagerNews news);
