/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether the parameters of a call are those that its method takes. */
#include "ipc/varlink_server.h"

#include <string.h>

const VarlinkParameter varlink_no_parameters[] = {{0}};

static bool parameter_fits(const VarlinkParameter *parameter, const json_t *value) {
        static const unsigned json_types[] = {
                [VARLINK_BOOL] = 1 << JSON_TRUE | 1 << JSON_FALSE,
                [VARLINK_INT] = 1 << JSON_INTEGER,
                [VARLINK_FLOAT] = 1 << JSON_REAL | 1 << JSON_INTEGER,
                [VARLINK_STRING] = 1 << JSON_STRING,
                [VARLINK_ARRAY] = 1 << JSON_ARRAY,
                [VARLINK_OBJECT] = 1 << JSON_OBJECT,
        };

        if (!value || json_is_null(value))
                return parameter->is_nullable;
        return 1U << json_typeof(value) & json_types[parameter->type];
}

static bool parameters_have(const VarlinkParameter *parameters, const char *name) {
        for (; parameters->name; parameters++)
                if (strcmp(parameters->name, name) == 0)
                        return true;
        return false;
}

const char *varlink_parameters_find_fault(const VarlinkParameter *parameters, json_t *values) {
        const char *name;
        json_t *value;

        for (const VarlinkParameter *p = parameters; p->name; p++)
                if (!parameter_fits(p, json_object_get(values, p->name)))
                        return p->name;
        json_object_foreach(values, name, value) {
                if (!parameters_have(parameters, name))
                        return name;
        }
        return NULL;
}
