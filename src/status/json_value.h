/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Values in the JSON of a status and of what is shown with it. JSON that is read may come from a daemon of another
 * version, or from another program. */

#include "base/json.h"
#include "config/config.h"
#include "model/topology.h"

/* Returns KEY of OBJECT; 0 if it is not a number or is negative. */
uint64_t count_from_json(const json_t *object, const char *key);

/* Returns KEY of OBJECT, made printable because any program may have written it; NULL if it is not a string. */
const char *text_from_json(Arena *arena, const json_t *object, const char *key);

/* Returns STRING, which may have any bytes because other programs wrote it, as a printable string; null for NULL. */
json_t *text_to_json(Arena *arena, const char *string);

static inline json_t *node_pages_to_json(const NodePages *nodes, size_t n) {
        return ARRAY_TO_JSON(each, nodes, n,
                             json_pack("{si so}", "node", (int) each->node, "pages",
                                       count_to_json(each->pages)));
}

NodePages *node_pages_from_json(Arena *arena, const json_t *array, size_t *ret_n);
