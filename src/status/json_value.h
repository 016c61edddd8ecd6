/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Values of JSON that a status, what it lists and what is told beside it are made of. What is read comes from
 * a daemon that may be another version, or no daemon. */

#include "base/json.h"
#include "config/config.h"
#include "model/topology.h"

/* KEY of OBJECT; 0 where it is no number, or a negative one. */
uint64_t count_from_json(const json_t *object, const char *key);

/* Fit for a terminal, whoever has said it; NULL where it is no string. */
const char *text_from_json(Arena *arena, const json_t *object, const char *key);

/* What strangers wrote, which may be any bytes; null for NULL. */
json_t *text_to_json(Arena *arena, const char *string);

static inline json_t *node_pages_to_json(const NodePages *nodes, size_t n) {
        return ARRAY_TO_JSON(each, nodes, n,
                             json_pack("{si so}", "node", (int) each->node, "pages",
                                       count_to_json(each->pages)));
}

NodePages *node_pages_from_json(Arena *arena, const json_t *array, size_t *ret_n);
