/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The members of a JSON object that are taken, and no others: the parameters of a method, the keys of a message. */

#include "base/macros.h"

#include <jansson.h>

/* Sets of jansson's types. */
typedef enum VarlinkType {
        VARLINK_BOOL = 1 << JSON_TRUE | 1 << JSON_FALSE,
        VARLINK_INT = 1 << JSON_INTEGER,
        VARLINK_FLOAT = 1 << JSON_REAL | 1 << JSON_INTEGER,
        VARLINK_STRING = 1 << JSON_STRING,
        VARLINK_ARRAY = 1 << JSON_ARRAY,
        VARLINK_OBJECT = 1 << JSON_OBJECT,
} VarlinkType;

typedef struct VarlinkParameter {
        const char *name; /* NULL ends a list of them */
        VarlinkType type;
        bool is_nullable; /* may be null or left out */
        bool is_optional; /* may be left out */
} VarlinkParameter;

/* For methods that take none. */
extern const VarlinkParameter varlink_no_parameters[];

/* The name of the first of VALUES, an object, that is not as PARAMETERS have it; NULL: there is none. */
const char *varlink_parameters_find_fault(const VarlinkParameter *parameters, json_t *values);
