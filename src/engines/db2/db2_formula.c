/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What Db2 makes of DATABASE_MEMORY is not published, and much of it is tuned while it runs: the user gives what
 * its segments come to. */

#include "engines/plain_memory.h"

const EngineFormula formula_db2 = {plain_memory_add, &plain_memory_parameters};
