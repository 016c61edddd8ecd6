/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What Db2 makes of DATABASE_MEMORY is not published, and much of it is tuned while it runs: the user gives what
 * its segments come to. */

#include "engines/engine_rows.h"
#include "engines/plain_memory.h"

static const char *size_db2(Arena *arena, const Settings *settings, uint64_t page_size_bytes,
                            Sizing *ret) {
        return plain_memory_size(&engine_db2, arena, settings, page_size_bytes, ret);
}

const EngineFormula formula_db2 = {size_db2, &plain_memory_parameters};
