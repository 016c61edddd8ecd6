/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which program a unit starts, whatever stands before it: numactl, su, a shell with a line of its own. */

#include "read/unit_file.h"

/* The first of NAMES, a list of programs (NULL: none), that ExecStart= of UNIT starts, allocated in ARENA; NULL: none. */
const char *started_by_unit(Arena *arena, const UnitFile *unit, const char *names);
