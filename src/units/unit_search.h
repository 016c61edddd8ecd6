/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What only the host's files tell of units: what they will be once the service manager has read them, which servers
 * exist, and which unit was meant. With it come the readers of unit files and of databases' own files, of which the
 * daemon has none: it goes by what the service manager says, and `check` looks through the files. */

#include "read/unit_file.h"
#include "units/loaded_unit.h"

UnitSearch unit_search(const Sources *sources);

/* What the files of the unit NAME come to: no more than what its gates depend on, and what it starts. */
LoadedUnit unit_search_loaded(Arena *arena, const char *name, const UnitFile *file);
