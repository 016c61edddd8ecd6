/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Whether systemd has the gates: generators fail silently, and drop-ins of a new configuration are
 * there only after `systemctl daemon-reload`. */

#include "host/root.h"
#include "units/dropin.h"
#include "units/loaded_unit.h"

/* Adds a warning for every unit of DROPINS whose generated file is missing or says something else.
 * An administrator's file of that name in /etc takes its place and is fine. Nothing is said where
 * systemd does not run. */
void dropin_check(const Root *root, const Dropins *dropins, Diags *problems);

/* What changes whenever systemd reads its units again, as that has the generators write all anew, and
 * mostly when files of these units do. */
char *dropin_key(const Root *root, Arena *arena, const SourceNames *units);

/* Finds out, in ARENA, who took the gates off those units that have none: `reset_file` and `override`. */
void dropin_explain(const Root *root, Arena *arena, const Config *config, LoadedUnits *units);
