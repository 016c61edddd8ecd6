/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Values in the JSON of a status and of what is shown with it. JSON that is read may come from a daemon of another
 * version, or from another program. */

#include "base/json.h"
#include "base/text.h"
#include "model/topology.h"

/* Returns KEY of OBJECT; 0 if it is not a number or is negative. */
static inline uint64_t count_from_json(const json_t *object, const char *key) {
        json_int_t value = json_integer_value(json_object_get(object, key));

        return value > 0 ? (uint64_t) value : 0;
}

/* Returns KEY of OBJECT, made printable because any program may have written it; NULL if it is not a string. */
static inline const char *text_from_json(Arena *arena, const json_t *object, const char *key) {
        const char *string = json_string_value(json_object_get(object, key));

        return string ? text_printable(arena, string) : NULL;
}

/* Returns STRING, which may have any bytes because other programs wrote it, as a printable string; null for NULL. */
static inline json_t *text_to_json(Arena *arena, const char *string) {
        return string ? json_string(text_printable(arena, string)) : json_null();
}

static inline json_t *node_pages_to_json(const PagesByNode *nodes) {
        return VEC_TO_JSON(each, nodes,
                           json_pack("{si so}", "node", (int) each->node, "pages",
                                     count_to_json(each->pages)));
}
