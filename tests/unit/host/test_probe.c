/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The probe on trees of unusual hosts. The case tests read whole fixtures. */

#include "base/size.h"
#include "host/probe.h"
#include "support/tree_story.h"

#include <unistd.h>

static const char node_meminfo[] = "Node %u MemTotal:       16777216 kB\n"
                                   "Node %u MemFree:        %u kB\n"
                                   "Node %u Active(anon):       4096 kB\n"
                                   "Node %u Active(file):       1024 kB\n"
                                   "Node %u Inactive(file):     2048 kB\n"
                                   "Node %u KReclaimable:       9999 kB\n"
                                   "Node %u Mapped:              700 kB\n"
                                   "Node %u Shmem:               400 kB\n"
                                   "Node %u SReclaimable:        512 kB\n";

static void write_number(const Tree *tree, const char *path, uint64_t number) {
        tree_write(tree, path, arena_printf(tree->arena, "%" PRIu64 "\n", number));
}

static void write_pool(const Tree *tree, const char *base, uint64_t kib, uint64_t total,
                       uint64_t available, uint64_t surplus) {
        const char *directory = arena_printf(tree->arena, "%s/hugepages-%" PRIu64 "kB", base, kib);

        write_number(tree, arena_printf(tree->arena, "%s/nr_hugepages", directory), total);
        write_number(tree, arena_printf(tree->arena, "%s/free_hugepages", directory), available);
        write_number(tree, arena_printf(tree->arena, "%s/surplus_hugepages", directory), surplus);
}

static void write_node(const Tree *tree, unsigned id, unsigned free_kib) {
        const char *base = arena_printf(tree->arena, "/sys/devices/system/node/node%u", id);

        tree_write(tree, arena_printf(tree->arena, "%s/meminfo", base),
                   arena_printf(tree->arena, node_meminfo, id, id, free_kib, id, id, id, id, id, id,
                                id));
        tree_write(tree, arena_printf(tree->arena, "%s/compact", base), "");
        write_pool(tree, arena_printf(tree->arena, "%s/hugepages", base), 2048, 10 + id, 5, 1);
}

static void write_two_nodes(const Tree *tree) {
        write_node(tree, 0, 8000000);
        write_node(tree, 2, 7000000);
        write_pool(tree, "/sys/kernel/mm/hugepages", 2048, 22, 10, 2);
        write_number(tree, "/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", 3);
        tree_write(tree, "/sys/devices/system/node/possible", "0-3\n");
        tree_write(tree, "/sys/devices/system/node/has_memory", "0,2\n");
        tree_write(tree, "/sys/devices/system/cpu/online", "0-5,8\n");
        tree_write(tree, "/proc/meminfo", "MemTotal: 33554432 kB\nHugepagesize:    2048 kB\n");
}

/* ---- stories ---- */

/* Makes a host with nodes 0 and 2. */
TREE_VERB(do_two_nodes, "two-nodes") {
        write_two_nodes(story->tree);
        return NULL;
}

/* The memory of nodes in KiB; "TOTAL/FREE/SURPLUS" of pools, and free blocks by order. */
static void add_node(Text *text, const Topology *topology, const Node *node) {
        text_printf(text,
                    "node %u: memory %" PRIu64 " free %" PRIu64 " reclaimable %" PRIu64 "%s%s%s",
                    node->id, node->memory_bytes / KIB, node->free_bytes / KIB,
                    node->reclaimable_bytes / KIB, node->has_memory ? "" : " no-memory",
                    node->can_compact ? " compact" : "", node->can_reclaim ? " reclaim" : "");
        for (size_t i = 0; i < topology->n_page_sizes; i++) {
                const Pool *pool = &node->pools[i];

                text_printf(text,
                            " %s=", format_page_size(text->arena, topology->page_sizes[i].bytes));
                if (pool->exists)
                        text_printf(text, "%" PRIu64 "/%" PRIu64 "/%" PRIu64, pool->total_pages,
                                    pool->free_pages, pool->surplus_pages);
                else
                        text_add(text, "-");
        }
        for (size_t i = 0; i < node->n_orders; i++)
                text_printf(text, "%s%" PRIu64, i == 0 ? " blocks " : " ", node->free_blocks[i]);
        text_add(text, "\n");
}

/* The nodes, each on a line. */
TREE_VERB(do_nodes, "nodes") {
        const Topology *topology = probe_topology(story->tree->root, line->arena, NULL);
        Text text = text_in(line->arena);

        for (size_t i = 0; i < topology->n_nodes; i++)
                add_node(&text, topology, &topology->nodes[i]);
        return text_string(&text);
}

/* All that does not belong to a node. A page size is "TOTAL/FREE/SURPLUS/RESERVED". */
TREE_VERB(do_host, "host") {
        const Topology *topology = probe_topology(story->tree->root, line->arena, NULL);
        Text text = text_in(line->arena);

        text_printf(&text, "%s cpus %u possible %s allowed %s boot '%s' release '%s' line '%s'",
                    topology->is_numa ? "numa" : "one-node", topology->n_cpus,
                    id_set_format(line->arena, &topology->possible_nodes),
                    id_set_format(line->arena, &topology->allowed_nodes), topology->boot_id,
                    topology->kernel_release ? topology->kernel_release : "-",
                    topology->kernel_command_line ? topology->kernel_command_line : "-");
        text_printf(&text, " base %" PRIu64 " default %" PRIu64 " thp %s",
                    topology->base_page_bytes / KIB, topology->default_page_size_bytes / KIB,
                    topology->thp_enabled ? topology->thp_enabled : "-");
        VEC_FOREACH(size, &topology->thp_sizes)
                text_printf(&text, " %s:%s", format_page_size(line->arena, size->bytes),
                            size->enabled ? size->enabled : "-");
        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes)
                text_printf(&text, " %s=%" PRIu64 "/%" PRIu64 "/%" PRIu64 "/%" PRIu64,
                            format_page_size(line->arena, size->bytes), size->total_pages,
                            size->free_pages, size->surplus_pages, size->reserved_pages);
        return text_string(&text);
}

/* NODE SIZE FILE: where a pool's count is. */
TREE_VERB(do_path, "path") {
        const Topology *topology = probe_topology(story->tree->root, line->arena, NULL);

        return topology_pool_path(line->arena, topology, (unsigned) story_number_at(line, 1),
                                  story_number_at(line, 2), line->words[3]);
}

/* "PERCENT% LIMIT COMMITTED" */
TREE_VERB(do_commit, "commit") {
        const CommitLimit limit = probe_topology(story->tree->root, line->arena, NULL)->commit;

        return arena_printf(line->arena, "%" PRIu64 "%% %s %s", limit.percent,
                            format_size(line->arena, limit.bytes),
                            format_size(line->arena, limit.committed_bytes));
}

STORY_TEST(stories, "unit/host/probe", TREE_TELLER)

/* ---- texts that no story can have, and single counts ---- */

/* Never more than the lists of file pages and the slab; shared memory on small pages does not reduce that. */
TREE_TEST(reclaimable) {
        static const struct {
                unsigned mapped_kib, shmem_kib, file_kib;
        } cases[] = {
                {700, 400, 3072 - 300},
                {700, 700, 3072},
                {700, 9000, 3072},              /* most of it a tmpfs, all of it unmapped */
                {8000100, 8000000, 3072 - 100}, /* a database on small pages */
                {9000, 400, 0},
        };
        Node node = {.id = 2};

        write_two_nodes(tree);
        const Topology *topology = probe_topology(tree->root, tree->arena, NULL);

        ARRAY_FOREACH(each, cases, ARRAY_LEN(cases)) {
                tree_write(tree, "/sys/devices/system/node/node2/meminfo",
                           arena_printf(
                                   tree->arena,
                                   "Node 2 Active(file): 1024 kB\nNode 2 Inactive(file): 2048 kB\n"
                                   "Node 2 Mapped: %u kB\nNode 2 Shmem: %u kB\n"
                                   "Node 2 SReclaimable: 512 kB\n",
                                   each->mapped_kib, each->shmem_kib));
                assert_int_equal(probe_node_memory(tree->root, topology, &node), 0);
                assert_int_equal(node.reclaimable_bytes, (each->file_kib + 512) * KIB);
        }
}

/* More numbers than orders are not stored beyond the array. */
TREE_TEST(long_buddyinfo) {
        Text text = text_in(tree->arena);

        write_two_nodes(tree);
        text_add(&text, "Node 0, zone Normal");
        for (int i = 0; i < 200; i++)
                text_printf(&text, " %d", i + 1);
        tree_write(tree, "/proc/buddyinfo", text.string);
        const Topology *topology = probe_topology(tree->root, tree->arena, NULL);

        assert_int_equal(topology->nodes[0].free_blocks[BUDDY_ORDERS - 1], BUDDY_ORDERS);
        assert_true(topology->nodes[1].free_bytes == 7000000 * KIB);
}

/* Files of settings that no plan changes are not read. */
TREE_TEST(settings_of_a_plan) {
        const Config none = {}, *oracle = config_line(tree->arena, "20-db Engine=oracle Pages=100");

        tree_write(tree, "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
                   "[always] inherit madvise never\n");
        tree_write(tree, "/proc/sys/kernel/shmmax", "4096\n");
        const Topology *topology = probe_topology(tree->root, tree->arena, &none);

        assert_int_equal(topology->thp_sizes.n, 0);
        assert_true(topology->limits.shmmax_bytes == UINT64_MAX);
        topology = probe_topology(tree->root, tree->arena, oracle);
        assert_int_equal(topology->thp_sizes.n, 1);
        assert_true(topology->limits.shmmax_bytes == 4096);
}

/* Of the running host, from the kernel. */
TREE_TEST(base_page_of_this_host) {
        Root *root;

        assert_int_equal(root_open("/", &root), 0);
        assert_int_equal(probe_topology(root, tree->arena, NULL)->base_page_bytes, getpagesize());
        root_free(root);
}

TREE_TEST(fresh_counts) {
        Pool pool = {.total_pages = 4711};

        write_two_nodes(tree);
        const Topology *topology = probe_topology(tree->root, tree->arena, NULL);
        Node node = topology->nodes[1];

        tree_write(tree, "/sys/devices/system/node/node2/hugepages/hugepages-2048kB/nr_hugepages",
                   "99\n");
        tree_write(tree, "/sys/devices/system/node/node2/meminfo",
                   "Node 2 MemTotal: 16777216 kB\nNode 2 MemFree: 5 kB\n");
        assert_int_equal(probe_pool(tree->root, topology, 2, 2 * MIB, &pool), 0);
        assert_int_equal(pool.total_pages, 99);
        assert_int_equal(probe_node_memory(tree->root, topology, &node), 0);
        assert_true(node.free_bytes == 5 * KIB);
        pool.total_pages = 4711;
        assert_int_equal(probe_pool(tree->root, topology, 7, 2 * MIB, &pool), -ENOENT);
        assert_int_equal(probe_pool(tree->root, topology, 2, GIB, &pool), -ENOENT);
        assert_int_equal(pool.total_pages, 4711);
}
