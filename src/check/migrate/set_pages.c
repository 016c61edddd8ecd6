/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/migrate/set_pages.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"

/* Whether the entry may only raise what is there: whatever acts first, this is reached. */
static bool only_raises(const SettingSource *entry) {
        return entry->source == SETTING_SOURCE_TUNED || entry->source == SETTING_SOURCE_SCRIPT ||
               text_equals(entry->file, PATH_SYSCTL_CONF); /* systemd-sysctl does not read it */
}

static uint64_t sum_of(const SetPages *set, const Topology *topology) {
        return ARRAY_SUM(pages, set->node_pages, topology->n_nodes, *pages);
}

/* As the kernel does: evenly over the nodes that have memory, the first ones get what is over. */
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

SetPagesList set_pages_find(Arena *arena, const SettingSources *entries, const Topology *topology) {
        SetPagesList list = {};

        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes) {
                SetPages set = {
                        .page_size_bytes = size->bytes,
                        .node_pages =
                                ARENA_ARRAY(arena, uint64_t, MAX(topology->n_nodes, (size_t) 1)),
                };

                VEC_FOREACH(entry, setting_sources_list(entries))
                        if (entry->is_effective && take_entry(&set, entry, topology))
                                *vec_push(arena, &set.sources) = entry;
                set.pages = sum_of(&set, topology);
                if (set.sources.n > 0)
                        *vec_push(arena, &list) = set;
        }
        return list;
}
