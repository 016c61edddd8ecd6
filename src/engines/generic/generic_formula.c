/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any program that maps a known amount of memory with huge pages: a virtual machine, DPDK,
 * Informix, Db2. The user gives the amount. */

#include "engines/parameters.h"

enum { SERVER_VERSION, MEMORY, N_PARAMETERS };

static const Parameter parameters[N_PARAMETERS] = {
        [SERVER_VERSION] = PARAMETER_SERVER_VERSION,
        [MEMORY] = {.name = "memory",
                    .parse = parse_size_bytes,
                    .expects = "write a size such as 8G",
                    .minimum = 1,
                    .is_required = true},
};

static const ParameterTable table = {&engine_generic, parameters, N_PARAMETERS};

static const char *size_generic(Arena *arena, const Settings *settings, uint64_t page_size_bytes,
                                Sizing *ret) {
        ParameterValue values[N_PARAMETERS];
        Sizing sizing = {.page_size_bytes = page_size_bytes, .is_exact = true};
        const char *wrong = parameters_read(arena, &table, settings, values);

        if (wrong)
                return wrong;
        sizing_add(arena, &sizing, "memory", NULL, values[MEMORY].number);
        sizing_finish(&sizing);
        *ret = sizing;
        return NULL;
}

const EngineFormula formula_generic = {size_generic};
