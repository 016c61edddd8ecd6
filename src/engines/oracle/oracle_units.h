/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which unit starts an instance of Oracle: sites write their own, of any name. */

#include "engines/oracle/oracle_instances.h"
#include "read/unit_file.h"

/* Whether it starts all that /etc/oratab marks, be it within a line for a shell. */
bool oracle_unit_calls_dbstart(Arena *arena, const Sources *sources, const UnitFile *unit);

/* "orcl" of "oracle@orcl.service"; NULL. */
const char *oracle_unit_instance(Arena *arena, const char *unit);

/* The service that starts INSTANCE: it says so by Environment=ORACLE_SID= or by what stands behind the @; or, and
 * *RET_STARTS_ALL is true, it calls dbstart, and the instance is marked. NULL where there is none, or more than one
 * of a kind. */
const char *oracle_unit_of(Arena *arena, const Sources *sources, const OracleInstance *instance,
                           bool *ret_starts_all);
