/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "model/topology.h"

#include "base/size.h"
#include "support/story.h"

TEST(rescue) {
        static const char *const rescues[] = {"rescue",
                                              "emergency",
                                              "single",
                                              "s",
                                              "S",
                                              "1",
                                              "-b",
                                              "systemd.unit=rescue.target",
                                              "systemd.unit=emergency.target"};
        static const char *const others[] = {
                "", "ro quiet", "singlemode", "systemd.unit=multi-user.target", "a=1", "3"};

        for (size_t i = 0; i < ARRAY_LEN(rescues); i++) {
                assert_true(kernel_command_line_is_rescue(rescues[i]));
                assert_true(kernel_command_line_is_rescue(
                        arena_printf(arena, "root=/dev/vda1 %s quiet", rescues[i])));
        }
        for (size_t i = 0; i < ARRAY_LEN(others); i++)
                assert_false(kernel_command_line_is_rescue(others[i]));
}

TEST(format_nodes) {
        IdSet nodes = {};

        id_set_add(&nodes, 1);
        assert_text(topology_format_nodes(arena, &nodes), "node 1");
        id_set_add(&nodes, 0);
        id_set_add(&nodes, 2);
        assert_text(topology_format_nodes(arena, &nodes), "nodes 0-2");
}

PLAIN_VERB(do_older, "older") {
        const Topology topology = {.kernel_release = line->rest};

        assert_false(topology_kernel_is_older(&(Topology){}, 5, 16));
        return story_yes(topology_kernel_is_older(&topology, 5, 16));
}

STORY_TEST(older_kernels, "unit/model/releases")

/* A distribution may have backported it, from one of its builds on. */
TEST(kernel_skills) {
        static const struct {
                const char *release;
                bool lacks;
        } cases[] = {
                {"5.16.0", false},
                {"5.15.0", true},
                {"5.14.0-179.el9.x86_64", false},
                {"5.14.0-180.el9.x86_64", false},
                {"5.14.0-1000.el9.x86_64", false},
                {"5.14.0-178.el9.x86_64", true},
                {"5.14.0-20.el9.x86_64", true},
                {"5.14.0-179-generic", true},
                {"5.14.0-.el9", true},
                {"5.15.0-200.el9.x86_64", true},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Topology topology = {.kernel_release = cases[i].release};

                assert_int_equal(topology_kernel_is_before_5_16(&topology), cases[i].lacks);
        }
}

static const char two_sizes[] = "sizes 1G 2M\n"
                                "node 0 total=16G 1G=3/2/0 2M=10/4/0\n"
                                "node 2 total=16G 1G=- 2M=7\n"
                                "node 5\n";

/* Nodes by number, sizes by bytes; missing ones have no index. */
TEST(finding) {
        const Topology *topology = host_make(arena, two_sizes);
        const IdSet with_memory = topology_memory_nodes(topology);

        assert_int_equal(topology_node_index(topology, 0), 0);
        assert_int_equal(topology_node_index(topology, 2), 1);
        assert_int_equal(topology_node_index(topology, 1), 3);
        assert_int_equal(topology_node(topology, 5)->id, 5);
        assert_null(topology_node(topology, 1));
        assert_int_equal(topology_page_size_index(topology, GIB), 0);
        assert_int_equal(topology_page_size_index(topology, 2 * MIB), 1);
        assert_int_equal(topology_page_size_index(topology, 64 * KIB), -1);
        assert_int_equal(topology_pool(topology, 0, GIB)->total_pages, 3);
        assert_int_equal(topology_pool(topology, 2, 2 * MIB)->total_pages, 7);
        assert_null(topology_pool(topology, 2, GIB));
        assert_null(topology_pool(topology, 1, 2 * MIB));
        assert_null(topology_pool(topology, 0, 64 * KIB));
        assert_text(id_set_format(arena, &with_memory), "0,2");
        assert_text(topology_page_size_names(arena, topology), "2M, 1G");
        assert_int_equal(topology_free_pages(arena, topology, 0)[0], 2);
        assert_int_equal(topology_free_pages(arena, topology, 1)[0], 4);
        assert_int_equal(topology_free_pages(arena, topology, 1)[1], 7);
}

/* Measured tables of 64M and 288M of touched memory, for each base page. */
TEST(page_tables) {
        static const struct {
                uint64_t bytes, base_page_bytes, tables_bytes;
        } cases[] = {
                {64 * MIB, 4 * KIB, 128 * KIB},
                {64 * MIB, 16 * KIB, 32 * KIB},
                {288 * MIB, 4 * KIB, 576 * KIB},
                {288 * MIB, 16 * KIB, 144 * KIB},
                {64 * MIB, 64 * KIB, 64 * KIB}, /* one of these tables maps 512M */
                {16 * GIB, 64 * KIB, 2 * MIB},
                {512 * MIB + 1, 64 * KIB, 128 * KIB},
                {2 * MIB + 1, 4 * KIB, 8 * KIB},
                {1, 4 * KIB, 4 * KIB},
                {0, 4 * KIB, 0},
                {GIB, 0, 0},
                {UINT64_MAX, 4 * KIB, UINT64_MAX / 512 / 4096 * 4096 + 4096},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_int_equal(page_tables_bytes(cases[i].bytes, cases[i].base_page_bytes),
                                 cases[i].tables_bytes);
        assert_int_equal(page_table_reach_bytes(4 * KIB), 2 * MIB);
        assert_int_equal(page_table_reach_bytes(16 * KIB), 32 * MIB);
        assert_int_equal(page_table_reach_bytes(64 * KIB), 512 * MIB);
        assert_int_equal(topology_base_pages(&(Topology){.base_page_bytes = 64 * KIB}, GIB + 1),
                         16385);
        assert_int_equal(topology_base_pages(&(Topology){}, GIB), 0);
}

/* Without huge pages, sizes follow from the base page, like the kernel's PMD. */
TEST(usual_page_size) {
        uint64_t bytes = 7;

        assert_int_equal(topology_usual_page_size(&(Topology){.base_page_bytes = 64 * KIB}),
                         512 * MIB);
        assert_int_equal(topology_usual_page_size(&(Topology){}), 0);
        assert_int_equal(topology_usual_page_size(&(Topology){.default_page_size_bytes = GIB,
                                                              .base_page_bytes = 4 * KIB}),
                         GIB);
        assert_true(page_size_parse("4K", &bytes) < 0 && page_size_parse("3M", &bytes) < 0);
        assert_true(page_size_parse("2", &bytes) < 0 && page_size_parse("x", &bytes) < 0);
        assert_int_equal(bytes, 7);
        assert_int_equal(page_size_parse("64K", &bytes), 0);
        assert_int_equal(bytes, 64 * KIB);
}
