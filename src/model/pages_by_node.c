/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/pages_by_node.h"

PagesByNode pages_by_node_copy(Arena *arena, const PagesByNode *pages) {
        return (PagesByNode){arena_memdup(arena, pages->items, pages->n * sizeof(NodePages)),
                             pages->n, pages->n};
}

void pages_add_on(Arena *arena, PagesByNode *all, unsigned node, uint64_t pages) {
        NodePages *known = pages_find_on(all, node);

        if (!known) {
                known = vec_push(arena, all);
                *known = (NodePages){.node = node};
        }
        known->pages = add_saturated(known->pages, pages);
}
