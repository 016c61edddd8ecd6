/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Checks whether systemd has the gates, because generators fail silently, and because drop-ins of a new
 * configuration exist only after `systemctl daemon-reload`. */

#include "host/root.h"
#include "units/dropin.h"
#include "units/loaded_unit.h"

/* Adds a warning for every unit of DROPINS whose generated file is missing or different. An administrator's
 * file of the same name in /etc replaces it and is no problem. Adds nothing if systemd does not run. */
void dropin_check(const Root *root, const Dropins *dropins, Diags *problems);

/* Returns a text that changes whenever systemd reloads its units, because the generators then write all files again,
 * and in most cases when files of UNITS change. */
char *dropin_key(const Root *root, Arena *arena, const SourceNames *units);

/* Sets `override`, allocated in ARENA, of units without gates. */
void dropin_explain(const Root *root, Arena *arena, const Config *config, LoadedUnits *units);
