/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A database that is started again within its unit, by a supervisor such as Patroni: systemd knows of no start,
 * so the daemon has it run hugeplan-ask@NAME.service, which else it does before the unit's. That becomes the owner,
 * asks, and what it says comes by Grow. Who asks for it can say nothing but when; at most every ten seconds. */

#include "daemon/manager.h"

/* Has the size of INSTANCE found out, where it is its database's own and was not just now; false: nothing is
 * under way for it. The end is told to the manager's listener. */
bool relearn_begin(Manager *manager, const InstanceConfig *instance);

/* It was found out just now, before the start of its unit: for the first start of the database within that. */
void relearn_note(Manager *manager, const char *instance);

bool relearn_is_under_way(const Manager *manager, const char *instance);

/* When the daemon stops. */
void relearn_drop(Manager *manager);
