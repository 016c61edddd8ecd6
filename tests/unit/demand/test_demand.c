/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/size.h"
#include "support/testing.h"

static const char two_nodes[] = "sizes 1G 2M\n"
                                "node 0 total=16G free=15G\n"
                                "node 1 total=16G free=15G\n";

static const DemandInstance *demand_of(Arena *arena, const char *host, const char *lines) {
        const Config *config = config_line(arena, "pg %s", lines);
        const Demand *demand = demand_compute(arena, config, host_make(arena, host), NULL);

        assert_text(problems_text(arena, &config->problems), "");
        assert_int_equal(demand->n_instances, 1);
        return &demand->instances[0];
}

static void assert_reason(const DemandInstance *demand, ReasonKind kind, const char *text) {
        assert_text(reason_id(demand->reason.kind), reason_id(kind));
        assert_contains(demand->reason.text, text);
        assert_non_null(demand->reason.remedy);
        assert_int_equal(demand->n_options, 0);
}

TEST(memory) {
        const DemandInstance *demand = demand_of(arena, two_nodes, "Memory=1G");

        assert_int_equal(demand->reason.kind, REASON_NONE);
        assert_int_equal(demand->n_options, 1);
        assert_true(demand->options[0].page_size_bytes == 2 * MIB);
        assert_true(demand->options[0].pages == 512);
        assert_null(demand->options[0].split);
        assert_text(id_set_format(arena, &demand->nodes), "0-1");
        /* Rounded up to whole pages. */
        demand = demand_of(arena, two_nodes, "Memory=3M");
        assert_true(demand->options[0].pages == 2);
        demand = demand_of(arena, two_nodes, "Memory=64K");
        assert_true(demand->options[0].pages == 1);
}

TEST(pages) {
        const DemandInstance *demand = demand_of(arena, two_nodes, "Pages=7\nPageSize=1G");

        assert_true(demand->options[0].page_size_bytes == GIB);
        assert_true(demand->options[0].pages == 7);
        assert_true(demand->options[0].sizing.is_exact);
        assert_true(demand->options[0].sizing.pages == 7);
        assert_true(demand->options[0].sizing.bytes == 7 * GIB);
        assert_true(demand->options[0].sizing.page_size_bytes == GIB);
        demand = demand_of(arena, two_nodes, "Pages=18446744073709551615\nPageSize=1G");
        assert_true(demand->options[0].sizing.bytes == UINT64_MAX);
}

/* Memory= is the engine's own setting: PostgreSQL needs more than its shared_buffers. */
TEST(engine_rule) {
        const DemandInstance *demand = demand_of(arena, two_nodes, "Engine=postgresql\nMemory=1G");

        assert_true(demand->options[0].pages > 512);
        assert_true(demand->options[0].sizing.steps.n > 1);
        assert_text(demand->options[0].sizing.steps.items[0].what, "shared_buffers");
}

/* The name of its unit says of which version it is, and explain that it does. */
TEST(version_of_unit) {
        const DemandOption *any =
                demand_of(arena, two_nodes, "Engine=postgresql\nMemory=4G\nUnit=pg.service")
                        ->options;
        const DemandOption *named = demand_of(arena, two_nodes,
                                              "Engine=postgresql\nMemory=4G\n"
                                              "Unit=postgresql@10-main.service")
                                            ->options;

        assert_true(named->pages < any->pages);
        assert_contains(
                named->sizing.caveat,
                "for version 10, as in the name of postgresql@10-main.service: an upper bound");
        assert_contains(any->sizing.caveat, "any version");
}

/* MySQL from 8.4 on, which it may be, has 16 instances on so many CPUs, and rounds the pool up to whole 2G. */
TEST(cpus) {
        static const char host[] = "sizes 2M\nnode 0 total=900G free=800G\ncpus 64";
        const DemandInstance *demand = demand_of(arena, host, "Engine=mysql\nMemory=104G");

        assert_true(demand->options[0].pages == 832 * UINT64_C(66));
        demand = demand_of(arena, host, "Engine=mysql\nMemory=105G");
        assert_true(demand->options[0].pages == 848 * UINT64_C(66));
}

TEST(page_size_preference) {
        const DemandInstance *demand =
                demand_of(arena, two_nodes, "Memory=3G\nPageSize=16G,1G,default");

        assert_int_equal(demand->n_options, 2);
        assert_true(demand->options[0].page_size_bytes == GIB);
        assert_true(demand->options[0].pages == 3);
        assert_true(demand->options[1].page_size_bytes == 2 * MIB);
        assert_true(demand->options[1].pages == 1536);
}

TEST(no_such_page_size) {
        assert_reason(demand_of(arena, two_nodes, "Memory=3G\nPageSize=16G,32M"),
                      REASON_NO_PAGE_SIZE, "no huge pages of 16G, 32M (they have 2M, 1G)");
}

TEST(no_hugetlb) {
        assert_reason(demand_of(arena, "node 0 total=16G free=15G", "Memory=1G"), REASON_NO_HUGETLB,
                      "no huge pages");
}

TEST(nodes) {
        static const char host[] = "sizes 2M\n"
                                   "node 0 total=16G free=15G\n"
                                   "node 2 total=16G free=15G\n"
                                   "node 3\n" /* memoryless */
                                   "possible 0-4\n"
                                   "allowed 0,3-4";

        assert_reason(demand_of(arena, host, "Memory=1G\nNodes=5"), REASON_NODE_ABSENT,
                      "node 5 does not exist");
        assert_reason(demand_of(arena, host, "Memory=1G\nNodes=0,4"), REASON_NODE_ABSENT,
                      "node 4 is offline");
        assert_reason(demand_of(arena, host, "Memory=1G\nNodes=3"), REASON_NODE_ABSENT,
                      "node 3 has no memory");
        assert_reason(demand_of(arena, host, "NodeMemory=0:1G 1:1G"), REASON_NODE_ABSENT,
                      "node 1 is offline");
        assert_reason(demand_of(arena, host, "Memory=1G\nNodes=0,2"), REASON_OUTSIDE_CPUSET,
                      "does not contain node 2");
        assert_contains(demand_of(arena, host, "Memory=1G\nNodes=5")->reason.remedy,
                        "nodes with memory: 0,2");
        /* All nodes: those with memory, whether or not there are holes. */
        const DemandInstance *demand = demand_of(
                arena, "sizes 2M\nnode 0 total=1G\nnode 2 total=1G\nnode 3\n", "Memory=2M");

        assert_int_equal(demand->reason.kind, REASON_NONE);
        assert_text(id_set_format(arena, &demand->nodes), "0,2");
}

/* With Nodes=all, a node outside our cpuset refuses too: its share would silently come to nothing. */
TEST(cpuset_and_all_nodes) {
        assert_reason(demand_of(arena,
                                "sizes 2M\nnode 0 total=1G free=1G\nnode 1 total=1G free=1G\n"
                                "allowed 0",
                                "Memory=2M"),
                      REASON_OUTSIDE_CPUSET, "node 1");
}

static char *split_text(Arena *arena, const DemandOption *option) {
        Text text = text_in(arena);

        for (size_t i = 0; i < option->n_split; i++)
                text_printf(&text, "%s%u:%" PRIu64, i > 0 ? " " : "", option->split[i].node,
                            option->split[i].pages);
        return arena_strdup(arena, text_string(&text));
}

TEST(split) {
        const DemandInstance *demand = demand_of(arena, two_nodes, "NodeMemory=0:12G 1:4G");

        assert_text(split_text(arena, &demand->options[0]), "0:6144 1:2048");
        assert_true(demand->options[0].pages == 8192);
        /* What does not come out even is rounded up on the lower nodes, and once in all. */
        demand = demand_of(arena, two_nodes, "NodeMemory=0:1M 1:3M");
        assert_text(split_text(arena, &demand->options[0]), "0:1 1:1");
        demand = demand_of(arena, two_nodes, "NodeMemory=0:3M 1:3M");
        assert_text(split_text(arena, &demand->options[0]), "0:2 1:1");
        demand = demand_of(arena, two_nodes, "NodeMemory=0:12G 1:4G\nPageSize=1G");
        assert_text(split_text(arena, &demand->options[0]), "0:12 1:4");
}

/* What the engine adds on top is split in the same proportion, and nothing is lost by rounding. */
TEST(split_of_engine) {
        static const char *const splits[] = {"0:1G 1:1G", "0:3G 1:1G", "0:1M 1:5G", "0:7G 1:1M"};

        for (size_t i = 0; i < ARRAY_LEN(splits); i++) {
                const DemandInstance *demand = demand_of(
                        arena, two_nodes,
                        arena_printf(arena, "Engine=postgresql\nNodeMemory=%s", splits[i]));
                const DemandOption *option = &demand->options[0];
                uint64_t sum = 0;

                assert_int_equal(option->n_split, 2);
                for (size_t k = 0; k < option->n_split; k++)
                        sum += option->split[k].pages;
                assert_true(sum == option->pages);
        }
        const DemandInstance *demand =
                demand_of(arena, two_nodes, "Engine=postgresql\nNodeMemory=0:3G 1:1G");
        const NodePages *split = demand->options[0].split;

        assert_true(split[0].pages >= 3 * split[1].pages);
        assert_true(split[0].pages <= 3 * split[1].pages + 3);
        assert_true(split[1].pages > 512); /* overhead here too */
}

/* Amounts that add up beyond what can be counted neither wrap nor crash. */
TEST(split_beyond_counting) {
        const DemandInstance *demand = demand_of(arena, two_nodes, "NodeMemory=0:15E 1:15E");
        const DemandOption *option = &demand->options[0];

        assert_int_equal(option->n_split, 2);
        for (size_t i = 0; i < option->n_split; i++)
                assert_true(option->split[i].pages > TIB / 2 / MIB);
        /* Two parts are all that can be counted: nothing is left for the third one to be a share of. */
        demand = demand_of(arena,
                           "sizes 2M\nnode 0 total=16G free=15G\nnode 1 total=16G free=15G\n"
                           "node 2 total=16G free=15G\n",
                           "NodeMemory=0:8E 1:9223372036854775807 2:1G");
        assert_int_equal(demand->options[0].split[2].pages, 0);
}

/* One node may be all. */
TEST(split_of_one) {
        const DemandInstance *demand = demand_of(arena, two_nodes, "NodeMemory=1:1G");

        assert_text(split_text(arena, &demand->options[0]), "1:512");
        assert_text(id_set_format(arena, &demand->nodes), "1");
}

/* ---- Memory=auto ---- */

static Figure figure_of(const char *instance, uint64_t page_size_bytes, uint64_t pages) {
        return (Figure){
                .instance = instance,
                .sizing = {.page_size_bytes = page_size_bytes, .pages = pages, .caveat = "found"}};
}

static const DemandInstance *automatic(Arena *arena, const char *learned, const Figures *figures) {
        const Config *config = config_make(
                arena, "pg.conf", "[Instance]\nEngine=postgresql\nMemory=auto\nUnit=pg.service\n",
                "pg.conf.d/90-learned.conf", arena_printf(arena, "[Instance]\n%s\n", learned),
                NULL);

        assert_text(problems_text(arena, &config->problems), "");
        return &demand_compute(arena, config, host_make(arena, two_nodes), figures)->instances[0];
}

/* A figure is of one instance and of one page size; without any there is nothing to plan with. */
TEST(figures) {
        Figures figures = {};
        const DemandInstance *demand = automatic(arena, "", NULL);

        assert_reason(demand, REASON_SIZE_UNKNOWN, "nothing was learned at an earlier start");
        assert_contains(demand->reason.remedy, "start pg.service");
        *vec_push((Arena *) arena, &figures) = figure_of("other", 2 * MIB, 50);
        *vec_push((Arena *) arena, &figures) = figure_of("pg", GIB, 3);
        assert_reason(automatic(arena, "", &figures), REASON_SIZE_UNKNOWN, "nothing was learned");
        *vec_push((Arena *) arena, &figures) = figure_of("pg", 2 * MIB, 120);
        demand = automatic(arena, "", &figures);
        assert_int_equal(demand->options[0].pages, 120);
        assert_text(demand->options[0].sizing.caveat, "found");
}

/* One that says why there is none says so for all page sizes. */
TEST(wrong_figure) {
        Figures figures = {};
        Figure *wrong = vec_push((Arena *) arena, &figures);

        *wrong = (Figure){.instance = "other", .wrong = "of another one"};
        assert_reason(automatic(arena, "", &figures), REASON_SIZE_UNKNOWN, "nothing was learned");
        *wrong = (Figure){.instance = "pg", .wrong = "it has no files", .remedy = "make some"};
        const DemandInstance *demand = automatic(arena, "", &figures);

        assert_reason(demand, REASON_SIZE_UNKNOWN, "its size is not known yet: it has no files");
        assert_text(demand->reason.remedy, "make some");
}

/* What was learned is taken where no figure is better, be it a single page. */
TEST(learned) {
        Figures figures = {};
        const DemandInstance *demand =
                automatic(arena, "Pages=2M:1\nX-Exact=no\nX-Rule=2M:1", &figures);

        assert_int_equal(demand->options[0].pages, 1);
        assert_false(demand->options[0].sizing.is_exact);
        assert_contains(demand->options[0].sizing.caveat, "Learned at the last start");
        assert_true(automatic(arena, "Pages=2M:1\nX-Exact=yes\nX-Rule=2M:1", &figures)
                            ->options[0]
                            .sizing.is_exact);
        *vec_push((Arena *) arena, &figures) = (Figure){.instance = "pg", .wrong = "unknown now"};
        assert_int_equal(automatic(arena, "Pages=2M:70\nX-Exact=yes\nX-Rule=2M:70", &figures)
                                 ->options[0]
                                 .pages,
                         70);
        figures.items[0] = figure_of("pg", 2 * MIB, 120);
        assert_int_equal(automatic(arena, "Pages=2M:70\nX-Exact=yes\nX-Rule=2M:70", &figures)
                                 ->options[0]
                                 .pages,
                         120);
}

/* ---- what else limits it ---- */

/* No more than what is reserved is earmarked for its mount. */
TEST(mount) {
        static const char lines[] = "Pages=10\nUser=db\nMount=/mnt/a min_size=%s";

        assert_int_equal(demand_of(arena, two_nodes, arena_printf(arena, lines, "20M"))->n_options,
                         1);
        assert_reason(demand_of(arena, two_nodes, arena_printf(arena, lines, "22M")), REASON_CONFIG,
                      "earmarks 11 pages of 2M, and only 10");
}

/* Some engines take the host's default size only. */
TEST(default_size_only) {
        assert_int_equal(
                demand_of(arena, two_nodes, "Engine=mysql\nMemory=1G\nPageSize=2M")->n_options, 1);
        assert_reason(demand_of(arena, two_nodes, "Engine=mysql\nMemory=1G\nPageSize=1G"),
                      REASON_ENGINE_SIZE, "default page size only, not 1G");
}

/* The policy names nodes that there are, whatever the file says. */
TEST(policy) {
        const DemandInstance *demand =
                demand_of(arena, two_nodes, "Pages=10\nPlacement=bind\nNodes=0,5\nUnit=a.service");

        assert_int_equal(demand->policy.kind, MEMORY_POLICY_BIND);
        assert_text(id_set_format(arena, &demand->policy.nodes), "0");
        assert_int_equal(
                demand_of(arena, two_nodes, "Pages=10\nPlacement=bind\nNodes=0")->policy.kind,
                MEMORY_POLICY_ANY);
}

TEST(refused_file) {
        const Config *config = config_line(arena, "pg Memory=x; ok Pages=1");
        const Demand *demand = demand_compute(arena, config, host_make(arena, two_nodes), NULL);

        assert_text(demand->instances[0].config->name, "ok");
        assert_int_equal(demand->instances[0].reason.kind, REASON_NONE);
        assert_reason(&demand->instances[1], REASON_CONFIG,
                      "/etc/hugeplan.d/pg.conf:2: Memory: 'x' is not valid here");
}

TEST(engine_that_reserves_nothing) {
        const DemandInstance *demand = demand_of(arena, two_nodes, "Engine=redis");

        assert_int_equal(demand->reason.kind, REASON_NONE);
        assert_int_equal(demand->n_options, 0);
}

/* PostgreSQL cannot be sized below a minimum of its own; the reason is the engine's. */
TEST(engine_refuses) {
        assert_reason(
                demand_of(arena, two_nodes, "Engine=postgresql\nMemory=64K"), REASON_ENGINE_SIZE,
                "shared_buffers (Memory= in /etc/hugeplan.d/pg.conf:3): '65536B' is too small");
}
