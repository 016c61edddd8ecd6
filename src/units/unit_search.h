/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reads units from the host's files: as the service manager will load them, which servers exist, and which unit was
 * meant. Only `check` uses this and, with it, the readers of unit files and databases' files; the daemon queries the
 * service manager instead. */

#include "read/unit_file.h"
#include "units/loaded_unit.h"

UnitSearch unit_search(const Sources *sources);

/* Returns the unit NAME as its files describe it: only the members for its gates, and the commands that it starts. */
LoadedUnit unit_search_loaded(Arena *arena, const char *name, const UnitFile *file);
