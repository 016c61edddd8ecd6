/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/json_value.h"

json_t *node_pages_to_json(const NodePages *nodes, size_t n) {
        return ARRAY_TO_JSON(each, nodes, n,
                             json_pack("{si so}", "node", (int) each->node, "pages",
                                       count_to_json(each->pages)));
}
