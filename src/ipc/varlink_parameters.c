/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ipc/varlink_parameters.h"

#include <string.h>

const VarlinkParameter varlink_no_parameters[] = {{0}};

const char *varlink_parameters_find_fault(const VarlinkParameter *parameters, json_t *values) {
        const VarlinkParameter *p;
        const char *name;
        json_t *value;

        for (p = parameters; p->name; p++) {
                value = json_object_get(values, p->name);
                if (value ? !(p->is_nullable && json_is_null(value)) &&
                                    !(1U << json_typeof(value) & p->type)
                          : !p->is_nullable && !p->is_optional)
                        return p->name;
        }
        json_object_foreach(values, name, value) {
                for (p = parameters; p->name && strcmp(p->name, name) != 0; p++)
                        ;
                if (!p->name)
                        return name;
        }
        return NULL;
}
