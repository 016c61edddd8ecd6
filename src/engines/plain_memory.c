/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/plain_memory.h"

enum { SERVER_VERSION, MEMORY };

static const Parameter parameters[] = {
        [SERVER_VERSION] = PARAMETER_SERVER_VERSION,
        [MEMORY] = {.name = "memory",
                    .parse = parse_size_bytes,
                    .expects = "write a size such as 8G",
                    .minimum = 1,
                    .is_required = true},
};

const ParameterTable plain_memory_parameters = {parameters, ARRAY_LEN(parameters)};

const char *plain_memory_add(Arena *arena, const Settings *settings UNUSED,
                             const ParameterValue *values, Sizing *sizing) {
        sizing->is_exact = true;
        sizing->source = SIZING_GIVEN;
        sizing_add(arena, sizing, "memory", NULL, values[MEMORY].number);
        return NULL;
}
