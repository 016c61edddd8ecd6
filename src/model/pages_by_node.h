/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "base/id_set.h"
#include "base/vec.h"

/* A number of pages on one node; the context gives their size. */
typedef struct NodePages {
        unsigned node;
        uint64_t pages;
} NodePages;

/* Pages on several nodes, usually sorted by node; of each node one entry. */
typedef VEC(NodePages) PagesByNode;

PagesByNode pages_by_node_copy(Arena *arena, const PagesByNode *pages);

/* Adds PAGES on NODE. */
void pages_add_on(Arena *arena, PagesByNode *all, unsigned node, uint64_t pages);

/* Returns the entry of NODE, or NULL. */
static inline NodePages *pages_find_on(const PagesByNode *all, unsigned node) {
        return VEC_SEEK(each, all, node < each->node ? -1 : node > each->node);
}

/* Return the pages on NODE, and those on NODES. */
static inline uint64_t pages_on(const PagesByNode *all, unsigned node) {
        const NodePages *found = pages_find_on(all, node);

        return found ? found->pages : 0;
}

static inline uint64_t pages_within(const PagesByNode *all, const IdSet *nodes) {
        return VEC_SUM(each, all, id_set_has(nodes, each->node) ? each->pages : 0);
}
