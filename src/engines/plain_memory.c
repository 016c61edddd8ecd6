/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/plain_memory.h"

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

const ParameterTable plain_memory_parameters = {.rows = parameters, .n = N_PARAMETERS};

const char *plain_memory_size(const Engine *engine, Arena *arena, const Settings *settings,
                              uint64_t page_size_bytes, Sizing *ret) {
        const ParameterTable table = {engine, parameters, N_PARAMETERS};
        ParameterValue values[N_PARAMETERS];
        Sizing sizing = {
                .page_size_bytes = page_size_bytes, .is_exact = true, .source = SIZING_GIVEN};
        const char *wrong = parameters_read(arena, &table, settings, values);

        if (wrong)
                return wrong;
        sizing_add(arena, &sizing, "memory", NULL, values[MEMORY].number);
        sizing_finish(&sizing);
        *ret = sizing;
        return NULL;
}
