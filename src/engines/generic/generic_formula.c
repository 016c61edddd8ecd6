/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any program that maps a known amount of memory with huge pages: a virtual machine, DPDK, Informix. The user
 * gives the amount. */

#include "engines/engine_rows.h"
#include "engines/plain_memory.h"

static const char *size_generic(Arena *arena, const Settings *settings, uint64_t page_size_bytes,
                                Sizing *ret) {
        return plain_memory_size(&engine_generic, arena, settings, page_size_bytes, ret);
}

const EngineFormula formula_generic = {size_generic, &plain_memory_parameters};
