/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/migrate/set_pages.h"

#include "base/text.h"
#include "model/names.h"

/* Returns whether ENTRY only counts if it is larger, because its place in the order is not known. */
static bool only_raises(const SettingSource *entry) {
        return entry->source == SETTING_SOURCE_TUNED || entry->source == SETTING_SOURCE_SYSFS ||
               text_equals(entry->file, PATH_SYSCTL_CONF); /* systemd-sysctl does not read it */
}

static uint64_t sum_of(const SetPages *set, const Topology *topology) {
        return ARRAY_SUM(pages, set->node_pages, topology->n_nodes, *pages);
}

/* Spreads as the kernel does: evenly over nodes with memory, the remainder over the first ones. */
static void spread(SetPages *set, const Topology *topology, uint64_t pages) {
        uint64_t n = ARRAY_SUM(node, topology->nodes, topology->n_nodes, node->has_memory);
        uint64_t i = 0;

        for (size_t k = 0; k < topology->n_nodes && n > 0; k++) {
                set->node_pages[k] = 0;
                if (topology->nodes[k].has_memory)
                        set->node_pages[k] = pages / n + (i++ < pages % n);
        }
        set->is_by_node = false;
}

static bool take_entry(SetPages *set, const SettingSource *entry, const Topology *topology) {
        bool is_taken = false, raises = only_raises(entry);
        uint64_t pages;

        if (setting_source_host_pages(entry, topology, set->page_size_bytes, &pages)) {
                if (!raises || pages > sum_of(set, topology))
                        spread(set, topology, pages);
                return true;
        }
        for (size_t i = 0; i < topology->n_nodes; i++)
                if (setting_source_node_pages(entry, topology->nodes[i].id, set->page_size_bytes,
                                              &pages)) {
                        set->node_pages[i] = raises ? MAX(set->node_pages[i], pages) : pages;
                        set->is_by_node = is_taken = true;
                }
        return is_taken;
}

/* Returns the existing pages of a node that hugeplan did not add. */
static uint64_t standing_pages(const Topology *topology, const Plan *plan, unsigned node,
                               uint64_t page_size_bytes) {
        const Pool *pool = topology_pool(topology, node, page_size_bytes);
        const PlanPool *planned = plan ? plan_pool(plan, node, page_size_bytes) : NULL;

        return planned ? planned->found_pages : pool ? pool_persistent_pages(pool) : 0;
}

static void take_standing(SetPages *set, const Topology *topology, const Plan *plan) {
        uint64_t pages = ARRAY_SUM(node, topology->nodes, topology->n_nodes,
                                   standing_pages(topology, plan, node->id, set->page_size_bytes));

        if (pages <= sum_of(set, topology))
                return;
        for (size_t i = 0; i < topology->n_nodes; i++)
                set->node_pages[i] =
                        standing_pages(topology, plan, topology->nodes[i].id, set->page_size_bytes);
        set->is_by_node = topology->n_nodes > 1;
        set->is_unexplained = true;
}

SetPagesList set_pages_find(Arena *arena, const SettingSources *entries, const Topology *topology,
                            const Plan *plan) {
        SetPagesList list = {};

        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes) {
                SetPages set = {
                        .page_size_bytes = size->bytes,
                        .node_pages =
                                ARENA_ARRAY(arena, uint64_t, MAX(topology->n_nodes, (size_t) 1)),
                };

                VEC_FOREACH(entry, &entries->list)
                        if (entry->is_effective && take_entry(&set, entry, topology))
                                *vec_push(arena, &set.sources) = entry;
                take_standing(&set, topology, plan);
                set.pages = sum_of(&set, topology);
                if (set.pages > 0 || set.sources.n > 0)
                        *vec_push(arena, &list) = set;
        }
        return list;
}
