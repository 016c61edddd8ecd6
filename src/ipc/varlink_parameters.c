/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ipc/varlink_parameters.h"

#include <string.h>

const VarlinkParameter varlink_no_parameters[] = {{0}};

static bool parameter_fits(const VarlinkParameter *parameter, const json_t *value) {
        if (!value)
                return parameter->is_nullable || parameter->is_optional;
        return (parameter->is_nullable && json_is_null(value)) ||
               1U << json_typeof(value) & parameter->type;
}

const char *varlink_parameters_find_fault(const VarlinkParameter *parameters, json_t *values) {
        const VarlinkParameter *p;
        const char *name;
        json_t *value;

        for (p = parameters; p->name; p++)
                if (!parameter_fits(p, json_object_get(values, p->name)))
                        return p->name;
        json_object_foreach(values, name, value) {
                for (p = parameters; p->name && strcmp(p->name, name) != 0; p++)
                        ;
                if (!p->name)
                        return name;
        }
        return NULL;
}
