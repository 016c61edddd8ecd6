/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Kernel command lines: what the kernel makes of them, what is wrong with them, and what they should
 * say for a plan. */

#include "base/size.h"
#include "check/kernel_args.h"
#include "support/testing.h"

/* Node 2 has no memory; node 3 is not online. */
static const char host[] = "sizes 1G 2M\n"
                           "node 0 total=64G free=60G\n"
                           "node 1 total=64G free=60G\n"
                           "node 2\n";

/* ---- reading ---- */

static char *read_text(Arena *arena, const KernelLine *line) {
        Text text = text_in(arena);

        VEC_FOREACH(pages, &line->pages) {
                text_printf(&text, "%s=", format_page_size(arena, pages->page_size_bytes));
                if (!pages->is_per_node)
                        text_printf(&text, "%" PRIu64, pages->pages);
                for (size_t i = 0; i < pages->n_nodes; i++)
                        text_printf(&text, "%s%u:%" PRIu64, i > 0 ? "," : "", pages->nodes[i].node,
                                    pages->nodes[i].pages);
                text_add(&text, " ");
        }
        VEC_FOREACH(problem, &line->problems.list)
                text_printf(&text, "%c:%s ", *severity_name(problem->severity),
                            problem->id + strlen("cmdline-"));
        return text_strip(arena, text_string(&text));
}

static const struct {
        const char *line;
        const char *expected; /* the pages taken, then severity and id of each problem */
} line_cases[] = {
        {"", ""},
        {"root=/dev/sda1 ro quiet", ""},
        {"hugepagesz=1G hugepages=4", "1G=4"},
        {"hugepagesz=1G hugepages=0:2,1:4", "1G=0:2,1:4"},
        {"hugepagesz=1G hugepages=0:2,1:4 hugepagesz=2M hugepages=512", "1G=0:2,1:4 2M=512"},
        {"hugepagesz=1GB hugepages=1", "1G=1"},
        {"hugepagesz=1048576K hugepages=1", "1G=1"},
        {"hugepagesz=1073741824 hugepages=1", "1G=1"},
        {"hugepagesz=0x40000000 hugepages=1", "1G=1"},
        {"hugepagesz=1g hugepages=0", "1G=0"},
        {"\"hugepagesz=1G\" hugepages=\"4\"", "1G=4"},
        {"hugepagesz=1G hugepages=010", "1G=10"},
        /* Words that belong to others. */
        {"init=/bin/sh -- hugepages=4", ""},
        {"x=\"a hugepages=4 b\" quiet", ""},
        {"dyndbg=\"file hugepage.c +p\"", ""},
        /* The default size. */
        {"hugepages=512", "2M=512 n:order"},
        {"default_hugepagesz=1G hugepages=4", "1G=4"},
        {"hugepages=4 default_hugepagesz=1G", "1G=4 n:order"},
        {"default_hugepagesz=1G hugepagesz=1G hugepages=4", "1G=4"},
        {"default_hugepagesz=1G hugepages=4 hugepagesz=1G hugepages=5", "1G=4 e:duplicate"},
        {"default_hugepagesz=1G default_hugepagesz=2M", "e:duplicate"},
        {"default_hugepagesz=3M hugepages=4", "e:no-such-size"},
        {"hugepages=512 hugepagesz=2M hugepages=1024", "2M=512 n:order e:duplicate"},
        {"hugepages=512 hugepagesz=1G hugepages=4", "2M=512 1G=4 n:order"},
        /* Order. */
        {"hugepages=4 hugepagesz=1G", "2M=4 e:order"},
        {"hugepagesz=1G hugepages=4 hugepages=5", "1G=4 e:duplicate"},
        {"hugepages=4 hugepages=5", "2M=4 n:order e:duplicate"},
        {"hugepagesz=1G hugepages=4 hugepagesz=1G hugepages=5", "1G=4 e:duplicate"},
        {"hugepagesz=1G hugepagesz=2M hugepages=5", "2M=5"},
        {"hugepagesz=1G hugepagesz=1G hugepages=5", "e:duplicate"},
        {"numa=off hugepages=1:4 hugepagesz=1G hugepages=2:1 hugepagesz=2M hugepages=7",
         "n:order e:duplicate e:numa-off"},
        {"hugepagesz=1G", ""},
        /* Sizes that are none. */
        {"hugepagesz=16G hugepages=4", "e:no-such-size"},
        {"hugepagesz= hugepages=4", "e:no-such-size"},
        {"hugepagesz hugepages=4", "e:no-such-size"},
        {"\"hugepagesz=1 G\" hugepages=4", "e:no-such-size"},
        {"hugepagesz=16G hugepages=4 hugepagesz=1G hugepages=1", "1G=1 e:no-such-size"},
        {"hugepagesz=99999999999G hugepages=4", "e:no-such-size"},
        {"hugepagesz=16G hugepages=4 hugepages=5", "2M=5 e:no-such-size n:order"},
        /* One node that is not there drops all. */
        {"hugepagesz=1G hugepages=0:2,3:4", "e:invalid-node"},
        {"hugepagesz=1G hugepages=7:2", "e:invalid-node"},
        {"hugepagesz=1G hugepages=99999:2", "e:invalid-node"},
        {"hugepagesz=1G hugepages=0:2,2:4", "1G=0:2,2:4 e:invalid-node"},
        {"hugepagesz=1G hugepages=0:2,2:0", "1G=0:2,2:0"},
        /* Counts that are none. */
        {"hugepages=", "e:bad-value"},
        {"hugepages", "e:bad-value"},
        {"hugepages=x", "e:bad-value"},
        {"hugepages=-1", "e:bad-value"},
        {"hugepages=2G", "e:bad-value"},
        {"hugepages=0:", "e:bad-value"},
        {"hugepages=0:1,", "e:bad-value"},
        {"hugepages=0:1,5", "e:bad-value"},
        {"hugepages=0:1x", "e:bad-value"},
        {"hugepages=99999999999999999999", "e:bad-value"},
        {"hugepages=0:18446744073709551615,1:5", "2M=0:18446744073709551615,1:5 n:order"},
        /* Transparent huge pages. */
        {"transparent_hugepage=never", ""},
        {"transparent-hugepage=madvise", ""},
        {"transparent_hugepage=always", ""},
        {"transparent_hugepage=off", "e:bad-value"},
        {"transparent_hugepage=Never", "e:bad-value"},
        {"transparent_hugepage", "e:bad-value"},
        /* Near misses. */
        {"transparent_hugepages=never", "e:typo"},
        {"transparent_hugepag=never", "e:typo"},
        {"transparant_hugepage=never", "e:typo"},
        {"transparenthugepage=never", "e:typo"},
        {"Transparent_Hugepage=never", "e:typo"},
        {"thp=never", "e:typo"},
        {"hugepagez=1G", "e:typo"},
        {"hugepage=4", "e:typo"},
        {"huge_pages=4", "e:typo"},
        {"hugepagesize=1G", "e:typo"},
        {"default_hugepages=1G", "e:typo"},
        {"vm.nr_hugepages=4", "e:typo"},
        {"hugeplan=off", ""},
        {"hugplan=off", "e:typo"},
        /* Neighbours that are real, or nobody's. */
        {"nohugeiomap nohugevmalloc numa_balancing=disable hugetlb_free_vmemmap=on", ""},
        {"sysctl.vm.nr_hugepages=4 hugepages.x=1 pages=1 huge=1", ""},
        {"thp_anon=64K:always thp_shmem=64K:always transparent_hugepage_shmem=never", ""},
        /* NUMA. */
        {"numa=off", ""},
        {"numa=off hugepages=4", "2M=4 n:order"},
        {"numa=on nosmt=off hugepages=0:4,1:4", "2M=0:4,1:4 n:order"},
        {"numa=off hugepages=0:4", "2M=0:4 n:order"},
        {"numa=off hugepages=0:4,1:4", "n:order e:numa-off"},
};

TEST(lines) {
        for (size_t i = 0; i < ARRAY_LEN(line_cases); i++) {
                const Topology *topology = host_make(arena, host);
                char *is = read_text(arena, kernel_line_read(arena, line_cases[i].line,
                                                             "/proc/cmdline", topology));

                if (!text_equals(is, line_cases[i].expected))
                        print_error("case %zu: %s\n", i, line_cases[i].line);
                assert_text(is, line_cases[i].expected);
        }
}

static const char *remedy_for(Arena *arena, const char *line) {
        const KernelLine *read =
                kernel_line_read(arena, line, "/proc/cmdline", host_make(arena, host));

        return read->problems.list.n > 0 ? read->problems.list.items[0].remedy : NULL;
}

/* Before 5.16 the kernel reads a number and does not look at what follows. */
TEST(old_lines) {
        static const struct {
                const char *release, *line, *expected;
        } cases[] = {
                {"5.10.0-36-amd64", "hugepagesz=1G hugepages=0:63,1:61", "1G=0 e:bad-value"},
                {"5.15.0-136-generic", "hugepagesz=1G hugepages=2:4", "1G=2 e:bad-value"},
                {"5.10.0-36-amd64", "hugepagesz=1G hugepages=4", "1G=4"},
                {"5.16.0", "hugepagesz=1G hugepages=0:2,1:4", "1G=0:2,1:4"},
                {"4.18.0-553.el8_10.x86_64", "hugepagesz=1G hugepages=0:2,1:4", "1G=0 e:bad-value"},
                {"5.14.0-70.30.1.el9_0.x86_64", "hugepagesz=1G hugepages=0:2", "1G=0 e:bad-value"},
                {"5.14.0-178.el9.x86_64", "hugepagesz=1G hugepages=0:2,1:4", "1G=0 e:bad-value"},
                /* Taken over from 5.16 there. */
                {"5.14.0-179.el9.x86_64", "hugepagesz=1G hugepages=0:2,1:4", "1G=0:2,1:4"},
                {"5.14.0-284.11.1.el9_2.x86_64", "hugepagesz=1G hugepages=0:2", "1G=0:2"},
                {"5.14.0-4-amd64", "hugepagesz=1G hugepages=0:2", "1G=0 e:bad-value"},
                {"5.14.21-150500.55.7-default", "hugepagesz=1G hugepages=0:2", "1G=0 e:bad-value"},
                {"5.15.0-300.163.18.el9uek.x86_64", "hugepagesz=1G hugepages=0:2",
                 "1G=0 e:bad-value"},
                {NULL, "hugepagesz=1G hugepages=0:2,1:4", "1G=0:2,1:4"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Topology *topology = host_make(arena, host);

                topology->kernel_release = cases[i].release;
                char *is = read_text(
                        arena, kernel_line_read(arena, cases[i].line, "/proc/cmdline", topology));

                if (!text_equals(is, cases[i].expected))
                        print_error("%s: %s\n", cases[i].release, cases[i].line);
                assert_text(is, cases[i].expected);
        }
}

TEST(remedies) {
        static const struct {
                const char *line, *remedy;
        } cases[] = {
                {"transparent_hugepages=never", "write transparent_hugepage=never"},
                {"hugepagez=1G", "write hugepagesz=1G"},
                {"hugepagez=4", "write hugepages=4"},
                {"hugepage=0:4", "write hugepages=0:4"},
                {"hugplan=off", "write hugeplan=off"},
                {"default_hugepages=1G", "write default_hugepagesz=1G"},
                {"hugepagesz=16G", "write one of 2M, 1G"},
                {"hugepages=5:1", "name only nodes of 0-2"},
                {"numa=off hugepages=1:1", NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_text(remedy_for(arena, cases[i].line), cases[i].remedy);
}

/* With numa=off now, the nodes of a line without it cannot be known. */
TEST(other_nodes) {
        Topology *topology = host_make(arena, "sizes 1G 2M\nnode 0 total=128G free=100G\n");

        topology->kernel_command_line = "numa=off";
        assert_text(read_text(arena, kernel_line_read(arena, "hugepagesz=1G hugepages=1:4", "x",
                                                      topology)),
                    "1G=1:4");
        topology->kernel_command_line = "quiet";
        assert_text(read_text(arena, kernel_line_read(arena, "hugepagesz=1G hugepages=1:4", "x",
                                                      topology)),
                    "e:invalid-node");
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
        char *changes; /* "-FROM +TO ?UNCLEAR", one to a line */
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

static Config *split_config(Arena *arena) {
        return config_make(arena, "20-a.conf",
                           "[Instance]\nEngine=generic\nUnit=a.service\nMemory=3G\nPageSize=1G\n"
                           "NodeMemory=0:2G 1:1G\n",
                           "30-b.conf",
                           "[Instance]\nEngine=generic\nUnit=b.service\nMemory=3G\nPageSize=1G\n"
                           "Nodes=1\n",
                           "40-c.conf", "[Instance]\nEngine=generic\nUnit=c.service\nMemory=1G\n",
                           NULL);
}

/* The host as it is when nothing of the command line was granted, and when all was. */
#define EMPTY "sizes 1G 2M\nnode 0 total=64G free=60G\nnode 1 total=64G free=60G\n"
#define FILLED                                                                 \
        "sizes 1G 2M\nnode 0 total=64G free=1G 1G=2 2M=256\nnode 1 total=64G " \
        "free=1G 1G=4 2M=256\n"

static const char wanted[] = "hugepagesz=1G hugepages=0:2,1:4";

TEST(verdicts) {
        static const struct {
                const char *host, *present, *verdict, *changes, *ids;
        } cases[] = {
                {EMPTY, "quiet", "change", "+hugepagesz=1G hugepages=0:2,1:4\n", ""},
                {EMPTY, NULL, "change", "+hugepagesz=1G hugepages=0:2,1:4\n", ""},
                {FILLED, wanted, "serves", "", ""},
                /* Granted in part. */
                {EMPTY, wanted, "serves", "", "w:cmdline-short w:cmdline-short"},
                /* Reserved at run time. */
                {FILLED, "quiet", "change", "+hugepagesz=1G hugepages=0:2,1:4\n",
                 "n:cmdline-run-time n:cmdline-run-time"},
                /* Without nodes: an even spread. */
                {EMPTY, "hugepagesz=1G hugepages=6", "change",
                 "-hugepagesz=1G hugepages=6 +hugepagesz=1G hugepages=0:2,1:4\n",
                 "w:cmdline-spread w:cmdline-short n:cmdline-beyond-plan w:cmdline-short"},
                {"sizes 1G 2M\nnode 0 total=64G free=60G 1G=4\nnode 1 total=64G free=60G 1G=4\n",
                 "hugepagesz=1G hugepages=8", "serves", "", "n:cmdline-beyond-plan"},
                /* What others asked for stays. */
                {EMPTY, "hugepagesz=1G hugepages=0:9", "change",
                 "-hugepagesz=1G hugepages=0:9 +hugepagesz=1G hugepages=0:9,1:4\n",
                 "w:cmdline-short n:cmdline-beyond-plan"},
                {EMPTY, "hugepages=512 quiet", "change", "+hugepagesz=1G hugepages=0:2,1:4\n",
                 "n:cmdline-order"},
                /* Mistakes in what is there are replaced by what is wanted. */
                {EMPTY, "hugepagesz=1G hugepages=0:2,9:4", "change",
                 "-hugepagesz=1G hugepages=0:2,9:4 +hugepagesz=1G hugepages=0:2,1:4\n",
                 "e:cmdline-invalid-node"},
                {EMPTY, "hugepages=4 hugepagesz=1G", "change",
                 "-hugepagesz=1G +hugepagesz=1G hugepages=0:2,1:4\n-hugepages=4\n",
                 "e:cmdline-order"},
                {EMPTY, "hugepagesz=1G hugepages=0:1 hugepagesz=1G hugepages=1:4", "change",
                 "-hugepagesz=1G hugepages=0:1 +hugepagesz=1G hugepages=0:2,1:4\n"
                 "-hugepagesz=1G hugepages=1:4\n",
                 "e:cmdline-duplicate w:cmdline-short"},
                {FILLED, "hugepagesz=1G hugepages=0:2,1:4 transparent_hugepage=no", "change",
                 "?transparent_hugepage=no\n", "e:cmdline-bad-value"},
                /* What makes pages per node impossible. */
                {EMPTY, "hugepagesz=1G hugepages=0:2,1:4 numa=off", "change", "-numa=off\n",
                 "e:cmdline-numa-off"},
                {FILLED, "hugetlb_cma=4G hugepagesz=1G hugepages=0:2,1:4", "change",
                 "-hugetlb_cma=4G\n", "e:cmdline-cma"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Advised advised =
                        advise(arena, cases[i].host, split_config(arena), cases[i].present);

                if (!text_equals(kernel_verdict_names[advised.advice->verdict], cases[i].verdict) ||
                    !text_equals(advised.changes, cases[i].changes) ||
                    !text_equals(advised.ids, cases[i].ids))
                        print_error("case %zu: %s\n", i, cases[i].present);
                assert_text(kernel_verdict_names[advised.advice->verdict], cases[i].verdict);
                assert_text(advised.advice->wanted, wanted);
                assert_text(advised.changes, cases[i].changes);
                assert_text(advised.ids, cases[i].ids);
        }
}

static Config *nodes_config(Arena *arena, const char *split) {
        return config_line(arena, "20-a Unit=a.service PageSize=1G NodeMemory=%s", split);
}

/* What cannot be told is not advised: one number where that rounds the plan off, else nothing. */
TEST(old_kernel) {
        static const struct {
                const char *split, *present, *verdict, *wanted, *changes, *ids;
        } cases[] = {
                {"0:31G 1:30G", "quiet", "change", "hugepagesz=1G hugepages=61",
                 "+hugepagesz=1G hugepages=61\n", "w:cmdline-spread"},
                /* Node 0 comes first. */
                {"0:30G 1:31G", "quiet", "change", "hugepagesz=1G hugepages=62",
                 "+hugepagesz=1G hugepages=62\n", "w:cmdline-spread"},
                {"0:2G 1:4G", "quiet", "change", "hugepagesz=1G hugepages=8",
                 "+hugepagesz=1G hugepages=8\n", "w:cmdline-spread"},
                {"0:31G 1:30G", "hugepagesz=1G hugepages=0:31,1:30", "change",
                 "hugepagesz=1G hugepages=61",
                 "-hugepagesz=1G hugepages=0:31,1:30 +hugepagesz=1G hugepages=61\n",
                 "e:cmdline-bad-value w:cmdline-spread"},
                /* 12 pages for the sake of 6 are too many. */
                {"1:6G", "quiet", "run-time", "", "", "w:cmdline-spread"},
                {"1:6G", "hugepagesz=1G hugepages=1:6", "change", "",
                 "?hugepagesz=1G hugepages=1:6\n",
                 "e:cmdline-bad-value w:cmdline-spread w:cmdline-short n:cmdline-beyond-plan"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Topology *topology = host_make(arena, EMPTY);
                const Config *config = nodes_config(arena, cases[i].split);
                const Topology *boot = kernel_args_boot_topology(arena, topology);

                topology->kernel_command_line = cases[i].present;
                topology->kernel_release = "5.10.0-36-amd64";
                KernelAdvice *advice = kernel_args_advise(arena, config, topology,
                                                          plan_simple(arena, config, boot));
                Text ids = text_in(arena);

                VEC_FOREACH(problem, &advice->problems.list)
                        text_printf(&ids, "%s%c:%s", ids.length > 0 ? " " : "",
                                    *severity_name(problem->severity), problem->id);
                if (!text_equals(text_string(&ids), cases[i].ids))
                        print_error("case %zu\n%s\n", i, problems_text(arena, &advice->problems));
                assert_text(kernel_verdict_names[advice->verdict], cases[i].verdict);
                assert_text(advice->wanted, cases[i].wanted);
                assert_text(changes_text(arena, advice), cases[i].changes);
                assert_text(text_string(&ids), cases[i].ids);
        }
}

/* Once the pages are there, the line serves. */
TEST(old_kernel_filled) {
        Topology *topology = host_make(arena, "sizes 1G 2M\nnode 0 total=64G free=50G 1G=4\n"
                                              "node 1 total=64G free=50G 1G=4\n");
        const Config *config = nodes_config(arena, "0:2G 1:4G");
        const Plan *plan = plan_simple(arena, config, kernel_args_boot_topology(arena, topology));

        topology->kernel_command_line = "hugepagesz=1G hugepages=8";
        topology->kernel_release = "5.10.0-36-amd64";
        KernelAdvice *advice = kernel_args_advise(arena, config, topology, plan);

        assert_text(kernel_verdict_names[advice->verdict], "serves");
        assert_contains(problems_text(arena, &advice->problems),
                        "this kernel (5.10.0-36-amd64) does not support node numbers in "
                        "hugepages=, which came with Linux 5.16, in RHEL 9 with "
                        "5.14.0-179.el9, and spreads pages of 1G evenly: the plan's 6 and "
                        "2 more");
}

TEST(nothing_wanted) {
        const Config *config =
                config_line(arena, "20-a Engine=generic Unit=a.service Memory=3G PageSize=2M");
        Advised advised = advise(arena, EMPTY, config, "quiet hugepages=5");

        assert_text(kernel_verdict_names[advised.advice->verdict], "not-needed");
        assert_text(advised.advice->wanted, "");
        assert_text(advised.advice->present, "hugepages=5");
        advised = advise(arena, EMPTY, config, "thp=never");
        assert_text(kernel_verdict_names[advised.advice->verdict], "change");
}

/* A machine of one node needs no node numbers. */
TEST(single_node) {
        static const char one[] = "sizes 1G 2M\nnode 0 total=64G free=60G\n";
        const Config *config =
                config_line(arena, "20-a Engine=generic Unit=a.service Memory=3G PageSize=1G");

        assert_text(advise(arena, one, config, "").advice->wanted, "hugepagesz=1G hugepages=3");
        assert_text(kernel_verdict_names[advise(arena, one, config, "hugepagesz=1G hugepages=0:3")
                                                 .advice->verdict],
                    "serves");
}

/* One node cannot be spread over unevenly. */
TEST(no_spread) {
        const Config *config =
                config_line(arena, "20-a Engine=generic Unit=a.service Memory=3G PageSize=1G");

        assert_text(advise(arena, "sizes 1G 2M\nnode 0 total=64G free=60G\n", config,
                           "hugepagesz=1G hugepages=2")
                            .ids,
                    "w:cmdline-short");
}

TEST(node_preference) {
        static const char one[] = "sizes 1G 2M\nnode 0 total=64G free=60G\n";
        const Config *config = config_line(
                arena, "20-a Engine=generic Unit=a.service Memory=3G PageSize=2M Nodes=0");
        Advised advised = advise(arena, one, config, "numa=off");

        assert_text(advised.ids, "e:cmdline-numa-off");
        assert_text(advised.changes, "-numa=off\n");
        assert_text(kernel_verdict_names[advised.advice->verdict], "change");
        assert_text(advise(arena, one, config, "numa=fake=2").ids, "");
        config = config_line(arena, "20-a Engine=generic Unit=a.service Memory=3G NodeMemory=0:3G");
        assert_text(advise(arena, one, config, "numa=off").ids, "e:cmdline-numa-off");
        config = config_line(arena, "20-a Engine=generic Unit=a.service Memory=3G Placement=pack");
        assert_text(advise(arena, one, config, "numa=off").ids, "");
}

/* default_hugepagesz=1G does not make pages of 1G ordinary. */
TEST(default_gigantic) {
        const Config *config =
                config_line(arena, "20-a Engine=generic Unit=a.service Memory=3G PageSize=1G");
        Advised advised = advise(arena, "sizes 1G\nnode 0 total=64G free=60G\n", config,
                                 "default_hugepagesz=1G hugepages=3");

        assert_text(advised.advice->wanted, "hugepagesz=1G hugepages=3");
        assert_text(kernel_verdict_names[advised.advice->verdict], "serves");
}

/* What is free today does not matter; what does not fit even at boot is told. */
TEST(boot_host) {
        static const char full[] = "sizes 1G 2M\nnode 0 total=64G free=0G 2M=20000/0\n";
        const Config *config = config_line(
                arena, "20-a Engine=generic Unit=a.service Memory=40G PageSize=1G; 30-b "
                       "Engine=generic Unit=b.service Memory=400G PageSize=1G");
        Advised advised = advise(arena, full, config, "");

        assert_text(advised.advice->wanted, "hugepagesz=1G hugepages=40");
        assert_text(advised.ids, "w:not-enough-memory");
}

TEST(existing_kept) {
        const Config *config = config_line(
                arena, "00-host [Host] ExistingPages=keep; 20-a Engine=generic Unit=a.service "
                       "Memory=3G PageSize=1G");
        Advised advised = advise(arena, "sizes 1G 2M\nnode 0 total=64G free=60G 1G=3\n", config,
                                 "hugepagesz=1G hugepages=3");

        assert_text(kernel_verdict_names[advised.advice->verdict], "change");
        assert_text(advised.ids, "e:existing-pages-kept");
}

/* What is shown, and pasted into a shell, has no control characters. */
TEST(printable) {
        Advised advised = advise(arena, host, config_line(arena, "a Pages=3"),
                                 "hugepagesz=1G\033[2J hugepages=3 numa=off\xff");

        assert_text(advised.advice->present, "hugepagesz=1G?[2J hugepages=3 numa=off?");
}
