/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Cover: what pools hold beyond the plan so that nobody takes pages on which another one depends. The plain
 * cases are in test_plan.c; here, what else there may be at the same time. */

#include "base/size.h"
#include "support/testing.h"

/* b is bound to node 1, and runs; c takes 40 pages wherever it likes. */
static const char both_run[] = "hold b.service b 2M=1:20 bind=1 counted\n"
                               "unit b.service 2M=30/1:10\n"
                               "hold c.service c 2M=0:40 counted\n"
                               "unit c.service 2M=40\n";
static const char c_runs[] = "hold c.service c 2M=0:40 counted\n"
                             "unit c.service 2M=40\n";

typedef struct Scene {
        const Config *config;
        const Topology *host;
        Running running;
        PoolLimits limits;
        PlanStartings starting;
} Scene;

static Scene scene_make(Arena *arena, const char *b, const char *host, const char *running) {
        return (Scene){
                .config = config_line(arena, "b Nodes=1 Placement=bind Unit=b.service %s", b),
                .host = host_make(arena, host),
                .running = running_make(arena, running),
        };
}

static const Plan *plan_scene(Arena *arena, const Scene *scene) {
        Ledger *ledger = ledger_new(arena, "boot");

        ledger->holds = scene->running.holds;
        ledger_observe(arena, ledger, scene->host, &scene->running.use);
        const PlanInput input = {
                .host = &scene->config->host,
                .demand = demand_compute(arena, scene->config, scene->host, NULL),
                .topology = scene->host,
                .ledger = ledger,
                .use = &scene->running.use,
                .limits = &scene->limits,
                .starting = &scene->starting,
        };

        return plan_make(arena, &input);
}

/* ---- beside limits ---- */

static const char surplus[] = "sizes 2M\n"
                              "node 0 total=20G free=4G 2M=40\n"
                              "node 1 total=20G free=4G 2M=30/20/10\n"
                              "reserved 2M=60\n";

/* What trying has shown is how far memory goes, beyond the surplus pages that become persistent. */
TEST(beside_limit) {
        Scene scene = scene_make(arena, "Pages=20", surplus, both_run);
        PoolLimit *limit = vec_push((Arena *) arena, &scene.limits);
        const Plan *plan;

        *limit = (PoolLimit){1, 2 * MIB, .persistent_pages = 45,
                             .reason = {REASON_FRAGMENTED, "x", "y"}};
        /* 25 more than the 20 that are persistent now. */
        plan = plan_scene(arena, &scene);
        assert_steps(plan, "1:2M:20->55");
        assert_int_equal(plan_pool(plan, 1, 2 * MIB)->cover_pages, 35);
        assert_int_equal(plan->exposures.items[0].pages, 15);
        limit->persistent_pages = 60;
        plan = plan_scene(arena, &scene);
        assert_steps(plan, "1:2M:20->70");
        assert_int_equal(plan->exposures.n, 0);
        limit->persistent_pages = 20;
        plan = plan_scene(arena, &scene);
        assert_steps(plan, "-");
        assert_int_equal(plan->exposures.items[0].pages, 20);
}

/* ---- beside counts that move ---- */

static const char plain[] = "sizes 2M\n"
                            "node 0 total=20G free=4G 2M=40\n"
                            "node 1 total=20G free=4G 2M=30\n";

/* Counts that do not belong together may be a page wrong: memory is spent only for who starts at this moment. */
TEST(beside_moving_counts) {
        Scene scene = scene_make(arena, "Pages=30",
                                 arena_printf(arena, "%sreserved 2M=40\n", plain), c_runs);
        Scene running = scene_make(
                arena, "Pages=30", arena_printf(arena, "%sreserved 2M=70\n", plain),
                arena_printf(arena,
                             "hold b.service b 2M=1:30 bind=1 counted\nunit b.service 2M=30\n%s",
                             c_runs));
        PlanStarting b = {"b", "b.service", "", {.kind = MEMORY_POLICY_BIND}};

        assert_steps(plan_scene(arena, &scene), "1:2M:30->70");
        assert_steps(plan_scene(arena, &running), "1:2M:30->70");
        scene.running.use.is_moving = running.running.use.is_moving = true;
        const Plan *plan = plan_scene(arena, &scene);

        assert_steps(plan, "-");
        assert_int_equal(plan_find(plan, "b")->exposed.kind, REASON_TAKEN); /* it is said */
        assert_steps(plan_scene(arena, &running), "-");
        id_set_add(&b.policy.nodes, 1);
        *vec_push((Arena *) arena, &scene.starting) = b;
        assert_steps(plan_scene(arena, &scene), "1:2M:30->70");
}

/* ---- where nobody counts ---- */

/* What two units have reserved is likely theirs, in whole: as if it were counted. What is reserved beyond it is
 * a stranger's, on whom no memory is spent. */
TEST(uncounted) {
        static const char running[] = "hold b.service b 2M=1:30 bind=1\n"
                                      "unit b.service\n"
                                      "hold c.service c 2M=0:40\n"
                                      "unit c.service\n";
        static const struct {
                const char *reserved, *steps;
        } cases[] = {
                {"reserved 2M=70\n", "1:2M:30->70"},
                /* The rest of their grants they have yet to map. */
                {"reserved 2M=12\n", "1:2M:30->70"},
                {"reserved 2M=80\n", "1:2M:30->70"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const char *host = arena_printf(arena,
                                                "sizes 2M\n"
                                                "node 0 total=20G free=4G 2M=50\n"
                                                "node 1 total=20G free=4G 2M=30\n"
                                                "%s",
                                                cases[i].reserved);
                Scene scene = scene_make(arena, "Pages=30", host, running);

                assert_steps(plan_scene(arena, &scene), cases[i].steps);
        }
}

/* ---- beside split pages ---- */

/* What splitting gives is free, and covers; memory gives what is still missing: 400 for c, 151 for b. */
TEST(beside_split) {
        Scene scene = scene_make(arena, "Pages=151\nPageSize=2M",
                                 "sizes 1G 2M\n"
                                 "node 0 total=20G free=4G 2M=400\n"
                                 "node 1 total=20G free=2348M 1G=3/3/0\n"
                                 "reserved 2M=400\n",
                                 "hold c.service c 2M=0:400 counted\n"
                                 "unit c.service 2M=400\n");
        Topology *host = (Topology *) scene.host;

        for (size_t i = 0; i < host->n_nodes; i++)
                host->nodes[i].pools[0].demote_to_bytes = 2 * MIB;
        const Plan *plan = plan_scene(arena, &scene);

        assert_steps(plan, "1:1G:3=>2 1:2M:0->551");
        assert_int_equal(plan_find(plan, "b")->exposed.kind, REASON_NONE);
}

/* ---- more than one who starts ---- */

/* Where memory does not suffice for all, the more important one finds its pages. */
TEST(importance) {
        static const struct {
                const char *first, *second;
                bool is_first_exposed;
        } cases[] = {{"60", "50", false}, {"50", "60", true}};

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Scene scene = scene_make(arena, "",
                                         "sizes 2M\n"
                                         "node 0 total=20G free=4G 2M=40\n"
                                         "node 1 total=20G free=2G 2M=80\n"
                                         "reserved 2M=40\n",
                                         c_runs);
                static const char lines[] = "[Instance]\nPages=30\nNodes=1\nPlacement=bind\n"
                                            "Priority=%s\nUnit=%s.service\n";

                scene.config = config_make(
                        arena, "a.conf", arena_printf(arena, lines, cases[i].first, "a"), "b.conf",
                        arena_printf(arena, lines, cases[i].second, "b"), NULL);
                const Plan *plan = plan_scene(arena, &scene);

                assert_int_equal(plan_find(plan, "a")->exposed.kind,
                                 cases[i].is_first_exposed ? REASON_TAKEN : REASON_NONE);
                assert_int_equal(plan_find(plan, "b")->exposed.kind,
                                 cases[i].is_first_exposed ? REASON_NONE : REASON_TAKEN);
        }
}

/* A single page is to be found like many. */
TEST(one_page) {
        Scene scene = scene_make(arena, "Pages=1",
                                 "sizes 2M\n"
                                 "node 0 total=20G free=4G 2M=40\n"
                                 "node 1 total=20G free=4G 2M=1\n"
                                 "reserved 2M=40\n",
                                 c_runs);

        assert_steps(plan_scene(arena, &scene), "1:2M:1->41");
        /* And to be told of, where there is no memory for more. */
        scene.host = host_make(arena, "sizes 2M\n"
                                      "node 0 total=20G free=4G 2M=40\n"
                                      "node 1 total=20G free=1G 2M=1\n"
                                      "reserved 2M=40\n");
        const Plan *plan = plan_scene(arena, &scene);

        assert_steps(plan, "-");
        assert_int_equal(plan_find(plan, "b")->exposed.kind, REASON_TAKEN);
}

/* A node that has no pages of this size has none to give. */
TEST(beside_node_without_pool) {
        Scene scene = scene_make(arena, "Pages=30\nNodes=1-2",
                                 "sizes 2M\n"
                                 "node 0 total=20G free=4G 2M=40\n"
                                 "node 1 total=20G free=4G 2M=30\n"
                                 "node 2 total=20G free=4G 2M=-\n"
                                 "reserved 2M=40\n",
                                 c_runs);

        assert_steps(plan_scene(arena, &scene), "1:2M:30->70");
}

/* Who gets no pages is nobody for whom any have to be there: where it would lie makes no difference to what the
 * others are given, 10 on each of their nodes for the one who runs and may come there. */
TEST(beside_refused) {
        static const char line[] = "[Instance]\nPlacement=bind\nUnit=%s.service\n%s\n";
        static const char *const z[] = {"Pages=10000\nNodes=1-2", "Pages=10000\nNodes=0-2"};

        for (size_t i = 0; i < ARRAY_LEN(z); i++) {
                Scene scene = scene_make(arena, "",
                                         "sizes 2M\n"
                                         "node 0 total=20G free=4G 2M=20\n"
                                         "node 1 total=20G free=4G 2M=20\n"
                                         "node 2 total=20G free=4G 2M=20\n"
                                         "reserved 2M=60\n",
                                         "hold a.service a 2M=1:20 bind=1 counted\n"
                                         "unit a.service 2M=20\n"
                                         "hold b.service b 2M=2:20 bind=2 counted\n"
                                         "unit b.service 2M=20\n"
                                         "hold c.service c 2M=0:10 bind=0-1 counted\n"
                                         "unit c.service 2M=10\n"
                                         "hold d.service d 2M=0:10 bind=0,2 counted\n"
                                         "unit d.service 2M=10\n");

                scene.config = config_make(
                        arena, "a.conf", arena_printf(arena, line, "a", "Pages=20\nNodes=1"),
                        "b.conf", arena_printf(arena, line, "b", "Pages=20\nNodes=2"), "e.conf",
                        "[Instance]\nPages=40\nNodes=1-2\nUnit=e.service\n", "z.conf",
                        arena_printf(arena, line, "z", z[i]), NULL);
                const Plan *plan = plan_scene(arena, &scene);

                assert_grants(plan, "z", "-");
                assert_steps(plan, "1:2M:20->50 2:2M:20->50");
        }
}

/* Of an instance without a unit nobody knows whether it runs: what it likely uses, or was promised, it need not
 * find any more. */
TEST(starter_without_unit) {
        static const struct {
                const char *counts;
                unsigned reserved;
                uint64_t pages;
        } cases[] = {{"100", 0, 100}, {"100/40", 0, 40}, {"100/40", 30, 10}, {"100/0", 0, 0}};

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Scene scene = scene_make(arena, "",
                                         arena_printf(arena,
                                                      "sizes 2M\nnode 0 total=20G free=4G 2M=%s\n"
                                                      "reserved 2M=%u\n",
                                                      cases[i].counts, cases[i].reserved),
                                         "");
                Ledger *ledger = ledger_new(arena, "boot");
                LedgerInstance *instance = vec_push((Arena *) arena, &ledger->instances);

                scene.config = config_line(arena, "a Pages=100");
                *instance = (LedgerInstance){
                        .name = "a", .page_size_bytes = 2 * MIB, .pages_wanted = 100};
                *vec_push((Arena *) arena, &instance->grants) = (NodePages){0, 100};
                *vec_push((Arena *) arena, &ledger->pools) =
                        (LedgerPool){0, 2 * MIB, .set_pages = 100};
                const PlanInput input = {
                        .host = &scene.config->host,
                        .demand = demand_compute(arena, scene.config, scene.host, NULL),
                        .topology = scene.host,
                        .ledger = ledger,
                        .use = &scene.running.use,
                };
                const Plan *plan = plan_make(arena, &input);
                const Starter starter =
                        plan_starter(&input, plan_promises(arena, &input), plan_find(plan, "a"));

                assert_int_equal(starter.pages, cases[i].pages);
        }
}
