/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What all that is written as JSON is made of: counts, and lists of what a vector holds. */

#include "base/vec.h"

#include <jansson.h>

/* JSON's integers are signed: what is beyond them is the largest. */
static inline json_t *count_to_json(uint64_t n) {
        return json_integer((json_int_t) MIN(n, (uint64_t) INT64_MAX));
}

/* Null for a count that is not known. */
static inline json_t *known_to_json(uint64_t n) {
        return n > 0 ? count_to_json(n) : json_null();
}

/* A list of what JSON, a new reference made from ITEM, is for each element of an array, or of a vector. */
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
