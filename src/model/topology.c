/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/topology.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"

size_t topology_node_index(const Topology *topology, unsigned id) {
        const Node *node = topology_node(topology, id);

        return node ? (size_t) (node - topology->nodes) : topology->n_nodes;
}

const Node *topology_node(const Topology *topology, unsigned id) {
        /* Fast path: on most hosts node numbers have no gaps. */
        if (id < topology->n_nodes && topology->nodes[id].id == id)
                return &topology->nodes[id];
        return ARRAY_SEEK(node, topology->nodes, topology->n_nodes,
                          id < node->id ? -1 : id > node->id);
}

const Pool *topology_pool(const Topology *topology, unsigned node_id, uint64_t page_size_bytes) {
        const Node *node = topology_node(topology, node_id);
        int i = topology_page_size_index(topology, page_size_bytes);

        if (!node || i < 0 || !node->pools[i].exists)
                return NULL;
        return &node->pools[i];
}

char *node_path(Arena *arena, unsigned node, const char *file) {
        return arena_printf(arena, PATH_NODES "/node%u/%s", node, file);
}

char *page_size_path(Arena *arena, const char *directory, uint64_t page_size_bytes,
                     const char *file) {
        return arena_printf(arena, "%s/" NAME_HUGEPAGES_DIR "%" PRIu64 "kB/%s", directory,
                            page_size_bytes / KIB, file);
}

char *topology_pool_path(Arena *arena, const Topology *topology, unsigned node,
                         uint64_t page_size_bytes, const char *file) {
        return page_size_path(
                arena, topology->is_numa ? node_path(arena, node, "hugepages") : PATH_HUGEPAGES,
                page_size_bytes, file);
}

bool topology_kernel_is_older(const Topology *topology, uint64_t major, uint64_t minor) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *rest = topology->kernel_release;
        uint64_t numbers[2];

        for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
                const char *word = rest ? text_next_word(arena, &rest, ".-+") : NULL;

                if (!word || parse_u64(word, &numbers[i]) < 0)
                        return false;
        }
        return numbers[0] < major || (numbers[0] == major && numbers[1] < minor);
}

bool topology_kernel_is_before_5_16(const Topology *topology) {
        static const char backported[] = "5.14.0-";
        enum { BUILD = 179 };
        const char *release = topology->kernel_release;
        uint64_t build;

        if (!topology_kernel_is_older(topology, 5, 16))
                return false;
        if (!text_starts_with(release, backported) || !strstr(release, ".el9"))
                return true;
        release += strlen(backported);
        return take_digits(&release, &build) < 0 || build < BUILD;
}

bool kernel_command_line_is_rescue(const char *line) {
        static const char *const arguments[] = {
                "rescue",
                "emergency",
                "single",
                "s",
                "S",
                "1",
                "-b",
                "systemd.unit=rescue.target",
                "systemd.unit=emergency.target",
        };

        CLEANUP(arena_freep) Arena *arena = arena_new();

        TEXT_FOREACH(word, arena, line, " \t\n")
                if (text_index(arguments, ARRAY_LEN(arguments), word) >= 0)
                        return true;
        return false;
}

IdSet topology_all_nodes(const Topology *topology) {
        IdSet nodes = {};

        ARRAY_FOREACH(node, topology->nodes, topology->n_nodes)
                id_set_add(&nodes, node->id);
        return nodes;
}

IdSet topology_memory_nodes(const Topology *topology) {
        IdSet nodes = {};

        ARRAY_FOREACH(node, topology->nodes, topology->n_nodes)
                if (node->has_memory)
                        id_set_add(&nodes, node->id);
        return nodes;
}

uint64_t topology_memory_bytes(const Topology *topology) {
        return ARRAY_SUM(node, topology->nodes, topology->n_nodes, node->memory_bytes);
}

char *topology_format_nodes(Arena *arena, const IdSet *nodes) {
        return arena_printf(arena, "node%s %s", id_set_count(nodes) == 1 ? "" : "s",
                            id_set_format(arena, nodes));
}

char *topology_page_size_names(Arena *arena, const Topology *topology) {
        Text text = text_in(arena);

        for (size_t i = topology->n_page_sizes; i > 0; i--)
                text_add_item(&text, format_page_size(arena, topology->page_sizes[i - 1].bytes));
        return arena_strdup(arena, text_string(&text));
}

uint64_t *topology_free_pages(Arena *arena, const Topology *topology, size_t size) {
        uint64_t *pages = ARENA_ARRAY(arena, uint64_t, topology->n_nodes);

        for (size_t i = 0; i < topology->n_nodes; i++)
                pages[i] = topology->nodes[i].pools[size].free_pages;
        return pages;
}

/* ---- pages by node ---- */

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
