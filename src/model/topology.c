/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/topology.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"

#include <errno.h>

int page_size_parse(const char *string, uint64_t *ret_bytes) {
        uint64_t bytes;

        if (parse_size_bytes(string, &bytes) < 0 || bytes < HUGE_PAGE_BYTES_MIN ||
            !is_power_of_two(bytes))
                return -EINVAL;
        *ret_bytes = bytes;
        return 0;
}

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

int topology_page_size_index(const Topology *topology, uint64_t page_size_bytes) {
        for (size_t i = 0; i < topology->n_page_sizes; i++)
                if (topology->page_sizes[i].bytes == page_size_bytes)
                        return (int) i;
        return -1;
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

static const struct {
        uint64_t major, minor;
        /* The distribution that has the feature in an older kernel: the prefix of its releases, the first build, and
         * the mark that identifies the distribution. */
        const char *prefix;
        uint64_t build;
        const char *mark;
        const char *since;
} skills[] = {
        [KERNEL_HUGEPAGES_BY_NODE] = {5, 16, "5.14.0-", 179, ".el9",
                                      "Linux 5.16, in RHEL 9 with 5.14.0-179.el9"},
        [KERNEL_SHM_BY_GROUP] = {5, 16, "5.14.0-", 179, ".el9",
                                 "Linux 5.16, in RHEL 9 with 5.14.0-179.el9"},
};

bool topology_kernel_lacks(const Topology *topology, KernelSkill skill) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const typeof(skills[0]) *row = &skills[skill];
        const char *release = topology->kernel_release;
        uint64_t build;

        if (!topology_kernel_is_older(topology, row->major, row->minor))
                return false;
        if (!text_starts_with(release, row->prefix) || !strstr(release, row->mark))
                return true;
        release += strlen(row->prefix);
        return parse_u64(arena_strndup(arena, release, strspn(release, "0123456789")), &build) <
                       0 ||
               build < row->build;
}

const char *kernel_skill_since(KernelSkill skill) {
        return skills[skill].since;
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

        return ARRAY_FIND(argument, arguments, ARRAY_LEN(arguments),
                          text_has_word(line, *argument));
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
