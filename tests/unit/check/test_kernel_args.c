/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Kernel command lines: what the kernel takes from them, what is wrong with them, and the line for a plan. */

#include "base/size.h"
#include "check/kernel_args.h"
#include "support/testing.h"

/* Node 2 has no memory; node 3 is not online. */
static const char host[] = "sizes 1G 2M\n"
                           "node 0 total=64G free=60G\n"
                           "node 1 total=64G free=60G\n"
                           "node 2\n";

/* ---- reading ---- */

/* With numa=off now, the nodes without it are unknown. */
TEST(other_nodes) {
        static const char line[] = "hugepagesz=1G hugepages=1:4";
        Topology *topology = host_make(arena, "sizes 1G 2M\nnode 0 total=128G free=100G\n");

        topology->kernel_command_line = "numa=off";
        const KernelLine *read = kernel_line_read(arena, line, "x", topology);

        assert_int_equal(read->problems.list.n, 0);
        assert_int_equal(read->pages.n, 1);
        assert_int_equal(read->pages.items[0].page_size_bytes, GIB);
        assert_int_equal(read->pages.items[0].n_nodes, 1);
        assert_int_equal(read->pages.items[0].nodes[0].node, 1);
        assert_int_equal(read->pages.items[0].nodes[0].pages, 4);
        topology->kernel_command_line = "quiet";
        read = kernel_line_read(arena, line, "x", topology);
        assert_int_equal(read->pages.n, 0);
        assert_int_equal(read->problems.list.n, 1);
        assert_text(read->problems.list.items[0].id, "cmdline-invalid-node");
}

TEST(pmd) {
        Topology *topology = host_make(arena, host);

        assert_int_equal(kernel_line_pmd_bytes(topology), 2 * MIB);
        topology->kernel_command_line = "default_hugepagesz=1G";
        topology->default_page_size_bytes = GIB;
        assert_int_equal(kernel_line_pmd_bytes(topology), 2 * MIB);
        topology->base_page_bytes = 64 * KIB;
        assert_int_equal(kernel_line_pmd_bytes(topology), 512 * MIB);
        topology->kernel_command_line = NULL;
        topology->default_page_size_bytes = 0;
        topology->base_page_bytes = 16 * KIB;
        assert_int_equal(kernel_line_pmd_bytes(topology), 32 * MIB);
        topology->base_page_bytes = 0;
        assert_int_equal(kernel_line_pmd_bytes(topology), 0);
        topology->default_page_size_bytes = GIB;
        topology->kernel_command_line = "default_hugepagesz=1G";
        assert_int_equal(kernel_line_pmd_bytes(topology), GIB);
}

TEST(power) {
        static const struct {
                const char *sizes;
                uint64_t base_kib;
                bool is_power;
        } cases[] = {
                {"16G 16M", 64, true}, {"16G 16M", 4, true},        {"1G 2M", 64, true},
                {"1G 2M", 4, false},   {"1G 32M 2M", 16, false},    {"16G 512M 2M", 64, false},
                {"2G 1M", 4, false},   {"1G 32M 2M 64K", 4, false},
        };

        ARRAY_FOREACH(each, cases, ARRAY_LEN(cases)) {
                Topology *topology =
                        host_printf(arena, "sizes %s\nnode 0 total=64G\n", each->sizes);

                topology->base_page_bytes = each->base_kib * KIB;
                assert_int_equal(kernel_is_power(topology), each->is_power);
        }
}

TEST(numbers) {
        static const struct {
                const char *text;
                int r;
                uint64_t number;
                const char *rest;
        } cases[] = {
                {"20", 0, 20, ""},
                {"010", 0, 8, ""},
                {"0", 0, 0, ""},
                {"08", 0, 0, "8"},
                {"0x1Fg", 0, 31, "g"},
                {"0xg", 0, 0, "xg"},
                {"12 3", 0, 12, " 3"},
                {"18446744073709551615", 0, UINT64_MAX, ""},
                {"18446744073709551616", -ERANGE, 0, NULL},
                {"0x10000000000000000", -ERANGE, 0, NULL},
                {"", -EINVAL, 0, NULL},
                {"-1", -EINVAL, 0, NULL},
                {" 1", -EINVAL, 0, NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const char *rest = NULL;
                uint64_t number = 0;

                assert_int_equal(kernel_number_parse(cases[i].text, &number, &rest), cases[i].r);
                assert_int_equal(number, cases[i].number);
                assert_text(rest, cases[i].rest);
        }
}

/* ---- advice ---- */

typedef struct Advised {
        KernelAdvice *advice;
        char *changes; /* "-FROM +TO ?UNCLEAR", one per line */
        char *ids;     /* of the problems */
} Advised;

static char *changes_text(Arena *arena, const KernelAdvice *advice) {
        Text text = text_in(arena);

        VEC_FOREACH(change, &advice->changes) {
                if (change->from)
                        text_printf(&text, "%c%s", change->is_unclear ? '?' : '-', change->from);
                if (change->to)
                        text_printf(&text, "%s+%s", change->from ? " " : "", change->to);
                text_add(&text, "\n");
        }
        return arena_strdup(arena, text_string(&text));
}

static Advised advise(Arena *arena, const char *host_text, const Config *config,
                      const char *present) {
        Topology *topology = host_make(arena, host_text);
        const Topology *boot = kernel_args_boot_topology(arena, topology);
        Text ids = text_in(arena);

        topology->kernel_command_line = present;
        KernelAdvice *advice =
                kernel_args_advise(arena, config, topology, plan_simple(arena, config, boot));

        VEC_FOREACH(problem, &advice->problems.list)
                text_printf(&ids, "%c:%s ", *severity_name(problem->severity), problem->id);
        return (Advised){advice, changes_text(arena, advice), text_strip(arena, text_string(&ids))};
}

/* The host without any page of the command line, and with all of them. */
#define EMPTY "sizes 1G 2M\nnode 0 total=64G free=60G\nnode 1 total=64G free=60G\n"
/* hugeplan reserves the pages that the line does not provide. */
TEST(old_kernel_filled) {
        Topology *topology = host_make(arena, "sizes 1G 2M\nnode 0 total=64G free=50G 1G=4\n"
                                              "node 1 total=64G free=50G 1G=4\n");
        const Config *config =
                config_line(arena, "20-a Unit=a.service PageSize=1G NodeMemory=%s", "0:2G 1:4G");
        const Plan *plan = plan_simple(arena, config, kernel_args_boot_topology(arena, topology));

        topology->kernel_command_line = "hugepagesz=1G hugepages=8";
        topology->kernel_release = "5.10.0-36-amd64";
        KernelAdvice *advice = kernel_args_advise(arena, config, topology, plan);

        assert_text(kernel_verdict_names[advice->verdict], "run-time");
        assert_contains(problems_text(arena, &advice->problems),
                        "this kernel (5.10.0-36-amd64) does not support node numbers in "
                        "hugepages=, which came with Linux 5.16, in RHEL 9 with "
                        "5.14.0-179.el9: hugeplan reserves the plan's pages at run time");
}

/* A node may lack the directory of a size, like nodes without memory. */
TEST(node_without_pool) {
        Topology *topology = host_make(arena, EMPTY);
        const Config *config =
                config_line(arena, "20-a Unit=a.service PageSize=1G Memory=%s", "2G");
        const Plan *plan = plan_simple(arena, config, kernel_args_boot_topology(arena, topology));

        topology->nodes[1].pools[0].exists = false;
        topology->kernel_command_line = "quiet";
        const KernelAdvice *advice = kernel_args_advise(arena, config, topology, plan);

        assert_int_equal(advice->pools.n, 2);
        assert_int_equal(advice->pools.items[1].node, 1);
        assert_int_equal(advice->pools.items[1].found_pages, 0);
}

TEST(nothing_wanted) {
        const Config *config =
                config_line(arena, "20-a Engine=generic Unit=a.service Memory=3G PageSize=2M");
        Advised advised = advise(arena, EMPTY, config, "quiet hugepages=5");

        assert_text(kernel_verdict_names[advised.advice->verdict], "not-needed");
        assert_text(advised.advice->wanted, "");
        assert_text(advised.advice->present, "hugepages=5");
}

/* A line that is shown and pasted into a shell has no control characters. */
TEST(printable) {
        Advised advised = advise(arena, host, config_line(arena, "a Pages=3"),
                                 "hugepagesz=1G\033[2J hugepages=3 numa=off\xff");

        assert_text(advised.advice->present, "hugepagesz=1G?[2J hugepages=3 numa=off?");
}
