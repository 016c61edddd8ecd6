/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Cover: what pools hold beyond the plan so that nobody takes pages on which another one depends. Who is
 * covered, and by how much, is in property/test_plan_properties.c; here, what its hosts do not have. */

#include "base/size.h"
#include "support/testing.h"

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

/* ---- more than one who starts ---- */

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
