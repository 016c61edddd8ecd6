/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Facts of the host on which units and the kernel's limits depend, besides the configuration. As they are read for
 * every status, only facts that CONFIG depends on are read. */

#include "host/root.h"
#include "read/accounts.h"
#include "units/dropin.h"
#include "units/mount_unit.h"

/* Returns the major version of the installed systemd, from the name of its private library, because no program
 * can be run; 0: not known, or nothing in CONFIG depends on it. */
unsigned systemd_version(const Root *root, const Config *config);

/* Returns the accounts of the host's files. */
Accounts accounts_of(const Root *root, Arena *arena);

/* Returns no accounts if no instance needs the group NAME_HUGETLB_GROUP. */
Accounts accounts_for_limits(const Root *root, Arena *arena, const Config *config);

/* Returns the mount units of CONFIG on this host; they refer to CONFIG. */
MountUnits mounts_of(const Root *root, Arena *arena, const Config *config,
                     const Topology *topology);

/* Returns the input from which the drop-ins of CONFIG are made. */
DropinInput dropin_input(const Root *root, Arena *arena, const Config *config, const char *ctl);
