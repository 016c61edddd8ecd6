/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which unit starts an instance of Oracle: sites write their own, of any name. */

#include "engines/oracle/oracle_instances.h"
#include "read/unit_file.h"

/* Whether it starts all that /etc/oratab marks, be it within a line for a shell. */
bool oracle_unit_calls_dbstart(Arena *arena, const UnitFile *unit);

/* "orcl" of "oracle@orcl.service"; NULL. */
const char *oracle_unit_instance(Arena *arena, const char *unit);

/* The service that starts INSTANCE alone: it says so by Environment=ORACLE_SID= or by what stands behind the @. NULL
 * where there is none, or more than one. */
const char *oracle_unit_of(Arena *arena, const Sources *sources, const OracleInstance *instance);
