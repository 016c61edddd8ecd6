/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the unit of an instance needs besides its pages: see plan/limits.h for the host's side. */

#include "config/config.h"
#include "read/accounts.h"

/* SharedMemory=, else the engine's way. */
SharedMemory instance_shared_memory(const InstanceConfig *instance);

/* What LimitMEMLOCK= the unit gets: a word for a unit file, in bytes; NULL: none is set.
 * systemd.exec(5). */
const char *instance_memory_lock(const InstanceConfig *instance);

/* Whether the unit's processes must be in the group NAME_HUGETLB_GROUP. */
bool instance_needs_group(const InstanceConfig *instance);

/* Whether any unit must be. */
bool config_needs_group(const Config *config);

/* An instance with a User= or Group= that does not exist becomes invalid, by file and line: its unit
 * would not start, or start as somebody else. Where accounts come from elsewhere too (LDAP), nothing
 * can be said. */
void config_check_accounts(Arena *arena, Config *config, const Accounts *accounts);
