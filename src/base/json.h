/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Building blocks of all JSON output: counts, and lists from the elements of a vector. */

#include "base/vec.h"

#include <jansson.h>

/* Returns a count. JSON integers are signed: larger counts become the largest integer. */
static inline json_t *count_to_json(uint64_t n) {
        return json_integer((json_int_t) MIN(n, (uint64_t) INT64_MAX));
}

/* Returns null for 0, which stands for a count that is not known. */
static inline json_t *known_to_json(uint64_t n) {
        return n > 0 ? count_to_json(n) : json_null();
}

/* Makes a list of the values of JSON, an expression that makes a new reference from ITEM, over an array or a vector. */
#define ARRAY_TO_JSON(item, array, n, json) \
        ARRAY_TO_JSON_(item, array, n, json, UNIQUE_NAME(list_, __COUNTER__))
#define VEC_TO_JSON(item, vec, json) ARRAY_TO_JSON(item, (vec)->items, (vec)->n, json)

#define ARRAY_TO_JSON_(item, array, n, json, list)         \
        ({                                                 \
                json_t *list = json_array();               \
                ARRAY_FOREACH(item, array, n)              \
                        json_array_append_new(list, json); \
                list;                                      \
        })
