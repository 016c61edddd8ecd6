/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The probe on trees of unusual hosts. The case tests read whole fixtures. */

#include "base/size.h"
#include "host/probe.h"
#include "support/testing.h"
#include "support/tree.h"

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

TREE_TEST(two_nodes) {
        write_two_nodes(tree);
        const Topology *topology = probe_topology(tree->root, tree->arena, NULL);

        assert_true(topology->is_numa);
        assert_int_equal(topology->n_nodes, 2);
        assert_int_equal(topology->nodes[0].id, 0);
        assert_int_equal(topology->nodes[1].id, 2);
        const Node *node = topology_node(topology, 2);

        assert_true(node->memory_bytes == 16 * GIB);
        assert_true(node->free_bytes == 7000000 * KIB);
        /* Without the page cache that programs have mapped. */
        assert_true(node->reclaimable_bytes == (1024 + 2048 - 300 + 512) * KIB);
        assert_true(node->has_memory);
        assert_int_equal(topology->n_cpus, 7);
        assert_true(node->can_compact);
        assert_false(node->can_reclaim);
        assert_int_equal(node->pools[0].total_pages, 12);
        assert_int_equal(node->pools[0].free_pages, 5);
        assert_int_equal(node->pools[0].surplus_pages, 1);
        assert_true(node->pools[0].exists);
        assert_text(id_set_format(tree->arena, &topology->possible_nodes), "0-3");
        assert_int_equal(topology->n_page_sizes, 1);
        assert_int_equal(topology->page_sizes[0].reserved_pages, 3);
        assert_int_equal(topology->page_sizes[0].total_pages, 22);
        assert_true(topology->default_page_size_bytes == 2 * MIB);
        assert_null(topology_node(topology, 1));
}

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

TREE_TEST(page_sizes) {
        write_pool(tree, "/sys/kernel/mm/hugepages", 64, 0, 0, 0);
        write_pool(tree, "/sys/kernel/mm/hugepages", 1048576, 0, 0, 0);
        write_pool(tree, "/sys/kernel/mm/hugepages", 2048, 0, 0, 0);
        write_pool(tree, "/sys/kernel/mm/hugepages", 32768, 0, 0, 0);
        tree_mkdir(tree, "/sys/kernel/mm/hugepages/hugepages-kB");
        tree_mkdir(tree, "/sys/kernel/mm/hugepages/hugepages-2MB");
        tree_mkdir(tree, "/sys/kernel/mm/hugepages/hugepages-0kB");
        tree_mkdir(tree, "/sys/kernel/mm/hugepages/hugepages-99999999999999999999kB");
        tree_mkdir(tree, "/sys/kernel/mm/hugepages/hugepages-18446744073709551615kB");
        tree_write(tree, "/proc/meminfo", "Hugepagesize:      32768 kB\n");
        const Topology *topology = probe_topology(tree->root, tree->arena, NULL);

        assert_int_equal(topology->n_page_sizes, 4);
        assert_text(topology_page_size_names(tree->arena, topology), "64K, 2M, 32M, 1G");
        assert_true(topology->page_sizes[0].bytes == GIB);
        assert_true(topology->default_page_size_bytes == 32 * MIB);
}

/* Without its line in meminfo, the smallest size. */
TREE_TEST(default_page_size) {
        write_pool(tree, "/sys/kernel/mm/hugepages", 2048, 0, 0, 0);
        write_pool(tree, "/sys/kernel/mm/hugepages", 1048576, 0, 0, 0);
        assert_true(probe_topology(tree->root, tree->arena, NULL)->default_page_size_bytes ==
                    2 * MIB);
        tree_write(tree, "/proc/meminfo", "Hugepagesize:      16384 kB\n"); /* not there */
        assert_true(probe_topology(tree->root, tree->arena, NULL)->default_page_size_bytes ==
                    2 * MIB);
}

/* An empty tree: everything is unknown. */
TREE_TEST(nothing_there) {
        const Topology *topology = probe_topology(tree->root, tree->arena, NULL);

        assert_false(topology->is_numa);
        assert_int_equal(topology->n_nodes, 1);
        assert_int_equal(topology->nodes[0].id, 0);
        assert_false(topology->nodes[0].has_memory);
        assert_int_equal(topology->n_page_sizes, 0);
        assert_int_equal(topology->default_page_size_bytes, 0);
        assert_null(topology->thp_enabled);
        assert_text(topology->boot_id, "");
        assert_true(id_set_has(&topology->allowed_nodes, 0));
}

/* No NUMA directories: the host is node 0. */
TREE_TEST(not_numa) {
        tree_write(tree, "/proc/meminfo",
                   "MemTotal: 1048576 kB\nMemFree: 524288 kB\n"
                   "Hugepagesize: 2048 kB\n");
        tree_write(tree, "/proc/sys/vm/compact_memory", "");
        write_pool(tree, "/sys/kernel/mm/hugepages", 2048, 7, 6, 0);
        const Topology *topology = probe_topology(tree->root, tree->arena, NULL);

        assert_false(topology->is_numa);
        assert_int_equal(topology->nodes[0].pools[0].total_pages, 7);
        assert_true(topology->nodes[0].free_bytes == 512 * MIB);
        assert_true(topology->nodes[0].has_memory);
        assert_true(topology->nodes[0].can_compact);
        assert_text(topology_pool_path(tree->arena, topology, 0, 2 * MIB, "nr_hugepages"),
                    "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
}

/* An old kernel: no has_memory, no possible, no surplus file. */
TREE_TEST(old_kernel) {
        write_two_nodes(tree);
        assert_int_equal(root_remove(tree->root, "/sys/devices/system/node/has_memory"), 0);
        assert_int_equal(root_remove(tree->root, "/sys/devices/system/node/possible"), 0);
        assert_int_equal(root_remove(tree->root, "/sys/devices/system/node/node2/hugepages/"
                                                 "hugepages-2048kB/surplus_hugepages"),
                         0);
        tree_write(tree, "/sys/devices/system/node/node2/meminfo", "Node 2 MemTotal: 0 kB\n");
        const Topology *topology = probe_topology(tree->root, tree->arena, NULL);

        assert_true(topology_node(topology, 0)->has_memory);
        assert_false(topology_node(topology, 2)->has_memory); /* from MemTotal */
        assert_int_equal(topology_node(topology, 2)->pools[0].surplus_pages, 0);
        assert_text(id_set_format(tree->arena, &topology->possible_nodes), "0,2");
}

TREE_TEST(odd_node_names) {
        write_node(tree, 0, 1000);
        tree_mkdir(tree, "/sys/devices/system/node/nodeX");
        tree_mkdir(tree, "/sys/devices/system/node/node");
        tree_mkdir(tree, "/sys/devices/system/node/node1024");
        tree_mkdir(tree, "/sys/devices/system/node/node-1");
        tree_mkdir(tree, "/sys/devices/system/node/power");
        assert_int_equal(probe_topology(tree->root, tree->arena, NULL)->n_nodes, 1);
}

TREE_TEST(buddyinfo) {
        write_two_nodes(tree);
        tree_write(tree, "/proc/buddyinfo",
                   "Node 0, zone      DMA      1      0      0\n"
                   "Node 0, zone   Normal     10     20     30\n"
                   "Node 2, zone  Movable      0      0      7\n"
                   "Node 9, zone   Normal      5      5      5\n"
                   "rubbish\n"
                   "Node x, zone y\n");
        const Topology *topology = probe_topology(tree->root, tree->arena, NULL);

        assert_int_equal(topology->nodes[0].free_blocks[0], 11);
        assert_int_equal(topology->nodes[0].n_orders, 3);
        assert_int_equal(topology->nodes[0].free_blocks[2], 30);
        assert_int_equal(topology->nodes[1].free_blocks[2], 7);
        assert_int_equal(topology->nodes[1].free_blocks[3], 0);
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

TREE_TEST(thp) {
        tree_write(tree, "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
        tree_write(tree, "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
                   "always inherit madvise [never]\n");
        tree_mkdir(tree, "/sys/kernel/mm/transparent_hugepage/hugepages-2048kB");
        tree_write(tree, "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "1\n");
        const Topology *topology = probe_topology(tree->root, tree->arena, NULL);

        assert_text(topology->thp_enabled, "madvise");
        assert_int_equal(topology->thp_sizes.n, 2);
        VEC_FOREACH(size, &topology->thp_sizes)
                assert_text(size->enabled, size->bytes == 64 * KIB ? "never" : NULL);
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

TREE_TEST(cpuset) {
        tree_write(tree, "/proc/self/status",
                   "Name:\tx\nMems_allowed:\t1\nMems_allowed_list:\t0,2\n"
                   "Threads: 1\n");
        const Topology *topology = probe_topology(tree->root, tree->arena, NULL);

        assert_text(id_set_format(tree->arena, &topology->allowed_nodes), "0,2");
}

/* Of a recorded host, from any mapping of small pages; of the running host, from the kernel. */
TREE_TEST(base_page) {
        static const struct {
                const char *smaps;
                uint64_t bytes;
        } cases[] = {
                {"KernelPageSize:       64 kB\n", 64 * KIB},
                {"aaaac8c90000-aaaac8d2d000 r-xp 00000000 fe:01 1048622    /usr/bin/hugeplanctl\n"
                 "Size:                628 kB\nKernelPageSize:       16 kB\n"
                 "MMUPageSize:          16 kB\nVmFlags: rd ex mr mw me\n",
                 16 * KIB},
                {"KernelPageSize:        3 kB\n", 0},
                {"KernelPageSize:  2097152 kB\n", 0},
                {"", 0},
        };
        Root *root;

        assert_int_equal(probe_topology(tree->root, tree->arena, NULL)->base_page_bytes, 0);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                tree_write(tree, "/proc/self/smaps", cases[i].smaps);
                assert_int_equal(probe_topology(tree->root, tree->arena, NULL)->base_page_bytes,
                                 cases[i].bytes);
        }
        assert_int_equal(root_open("/", &root), 0);
        assert_int_equal(probe_topology(root, tree->arena, NULL)->base_page_bytes, getpagesize());
        root_free(root);
}

TREE_TEST(command_line) {
        tree_write(tree, "/proc/cmdline", "root=/dev/sda1 hugeplan=off quiet\n");
        tree_write(tree, "/proc/sys/kernel/random/boot_id", "a-b-c\n");
        tree_write(tree, "/proc/sys/kernel/osrelease", "6.12.0\n");
        const Topology *topology = probe_topology(tree->root, tree->arena, NULL);

        assert_true(text_has_word(topology->kernel_command_line, "hugeplan=off"));
        assert_true(text_has_word(topology->kernel_command_line, "quiet"));
        assert_false(text_has_word(topology->kernel_command_line, "hugeplan"));
        assert_false(text_has_word(topology->kernel_command_line, "qui"));
        assert_text(topology->boot_id, "a-b-c");
        assert_text(topology->kernel_release, "6.12.0");
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

/* The kernel can count surplus pages on a node that has no pages left. Another node's pages are then its own. */
TREE_TEST(surplus_of_an_empty_pool) {
        static const char pool[] = "/sys/devices/system/node/node2/hugepages/hugepages-2048kB";

        write_two_nodes(tree);
        tree_write(tree, arena_printf(tree->arena, "%s/nr_hugepages", pool), "0\n");
        tree_write(tree, arena_printf(tree->arena, "%s/surplus_hugepages", pool), "2\n");
        const Topology *topology = probe_topology(tree->root, tree->arena, NULL);

        assert_int_equal(topology_pool(topology, 2, 2 * MIB)->total_pages, 0);
        assert_int_equal(topology_pool(topology, 2, 2 * MIB)->surplus_pages, 2);
        assert_int_equal(topology->page_sizes[0].surplus_pages, 3);
}

/* Counts that are no numbers: the pool does not exist. */
TREE_TEST(rubbish_counts) {
        write_two_nodes(tree);
        tree_write(tree, "/sys/devices/system/node/node2/hugepages/hugepages-2048kB/nr_hugepages",
                   "lots\n");
        tree_write(tree, "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
                   "-1\n");
        const Topology *topology = probe_topology(tree->root, tree->arena, NULL);

        assert_false(topology->nodes[0].pools[0].exists);
        assert_false(topology->nodes[1].pools[0].exists);
        assert_null(topology_pool(topology, 2, 2 * MIB));
}
