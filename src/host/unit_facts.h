/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What units and the kernel's limits depend on besides the configuration, read where something depends on
 * it: this is done for every status. */

#include "host/root.h"
#include "read/accounts.h"
#include "units/dropin.h"

/* The major version of systemd that is installed, by the name of its private library, since no
 * program can be asked; 0: not known, or nothing that CONFIG asks for depends on it. */
unsigned systemd_version(const Root *root, const Config *config);

/* None where no instance needs the group NAME_HUGETLB_GROUP. */
Accounts accounts_for_limits(const Root *root, Arena *arena, const Config *config);

/* All that the drop-ins of CONFIG are made from. */
DropinInput dropin_input(const Root *root, Arena *arena, const Config *config, const char *ctl);
