/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the unit of an instance needs besides its pages; plan/host_plan.h has the host's side. */

#include "config/config.h"
#include "read/accounts.h"

/* Returns SharedMemory=, or the engine's kind of shared memory if that is not set. */
SharedMemory instance_shared_memory(const InstanceConfig *instance);

/* Returns the unit's LimitMEMLOCK= as a word for a unit file, in bytes; NULL: none is set. systemd.exec(5). */
const char *instance_memory_lock(const InstanceConfig *instance);

/* Returns whether the unit's processes must be in the group NAME_HUGETLB_GROUP. */
bool instance_needs_group(const InstanceConfig *instance);

/* Returns whether the processes of any unit must be in the group NAME_HUGETLB_GROUP. */
bool config_needs_group(const Config *config);

/* Makes an instance invalid, by file and line, if its User= or Group= does not exist: systemd could not start the unit,
 * or would start it as another user. Accounts are not checked if they also come from elsewhere (LDAP). */
void config_check_accounts(Arena *arena, Config *config, const Accounts *accounts);
