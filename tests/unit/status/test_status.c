/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Verdicts: what is said of each instance, and who is said to have lost when pages are missing. */

#include "base/size.h"
#include "status/status.h"
#include "support/testing.h"

static const char host[] = "sizes 2M\n"
                           "node 0 total=20G free=4048M\n"
                           "node 1 total=20G free=4048M\n"
                           "thp never\n";

/* A host in the course of events. */
typedef struct Scene {
        Arena *arena;
        const Config *config;
        Topology *topology;
        Ledger *ledger;
        Running running;
        Plan *plan;
        Status *status;
} Scene;

static Scene scene_beside(Arena *arena, const Config *config, const char *host_text,
                          const char *running) {
        Scene scene = {.arena = arena,
                       .config = config,
                       .topology = host_make(arena, host_text),
                       .ledger = ledger_new(arena, "boot"),
                       .running = running_make(arena, running)};

        scene.plan = plan_beside(arena, config, scene.topology, scene.ledger, &scene.running);
        return scene;
}

static Scene scene_with(Arena *arena, const Config *config, const char *host_text) {
        return scene_beside(arena, config, host_text, "");
}

/* As the daemon does: record, write, remember what was set, and record what is there by a plan that is made anew. */
static void apply_all(Scene *scene) {
        plan_record(scene->arena, scene->plan, scene->ledger);
        host_apply(scene->topology, scene->plan);
        for (size_t i = 0; i < scene->plan->n_pools; i++)
                ledger_pool(scene->ledger, scene->plan->pools[i].node,
                            scene->plan->pools[i].page_size_bytes)
                        ->set_pages = scene->plan->pools[i].to_pages;
        const Plan *plan = plan_beside(scene->arena, scene->config, scene->topology, scene->ledger,
                                       &scene->running);

        plan_record(scene->arena, plan, scene->ledger);
        plan_note_ready(plan, scene->ledger);
}

static void judge(Scene *scene, bool is_working) {
        const StatusInput input = {
                .config = scene->config,
                .plan = scene->plan,
                .topology = scene->topology,
                .use = &scene->running.use,
                .ledger = scene->ledger,
                .phase = is_working ? "reserving" : "idle",
                .is_working = is_working,
        };

        scene->status = status_judge(scene->arena, &input);
}

/* Others take pages away from a pool: echo 0 > nr_hugepages, more or less. */
static void lose_pages(Scene *scene, unsigned node, uint64_t pages) {
        Pool *pool = (Pool *) topology_pool(scene->topology, node, 2 * MIB);

        pool->total_pages -= pages;
        pool->free_pages -= pages;
}

static const StatusInstance *instance_of(const Scene *scene, const char *name) {
        const StatusInstance *instance = status_find(scene->status, name);

        assert_non_null(instance);
        return instance;
}

#define assert_verdict(scene, name, word) \
        assert_text(verdict_name(instance_of((scene), (name))->verdict), (word))

TEST(ready) {
        Scene scene = scene_with(arena, config_line(arena, "a Pages=100 Unit=a.service"), host);

        apply_all(&scene);
        judge(&scene, false);
        const StatusInstance *a = instance_of(&scene, "a");

        assert_verdict(&scene, "a", "ready");
        assert_text(verdict_name(scene.status->verdict), "ready");
        assert_int_equal(a->pages_wanted, 100);
        assert_int_equal(a->pages_granted, 100);
        assert_int_equal(a->n_nodes, 2);
        assert_text(a->unit, "a.service");
        assert_text(a->engine, "generic");
        assert_text(a->file, "/etc/hugeplan.d/a.conf");
        assert_null(a->reason.text);
        assert_text(scene.status->thp, "never");
        assert_text(scene.status->phase, "idle");
        assert_text(scene.status->boot_id, "boot");
        assert_int_equal(scene.status->problems.list.n, 0);
}

/* Nothing was written yet: a plan alone is no success. */
TEST(planned_is_not_ready) {
        Scene scene = scene_with(arena, config_line(arena, "a Pages=100"), host);

        judge(&scene, false);
        assert_verdict(&scene, "a", "refused");
        assert_int_equal(instance_of(&scene, "a")->pages_granted, 0);
        assert_int_equal(instance_of(&scene, "a")->reason.kind, REASON_POOL_SHRANK);
        assert_contains(instance_of(&scene, "a")->reason.text, "are not reserved");
        assert_int_equal(diags_count(&scene.status->problems, SEVERITY_ERROR), 1);
}

TEST(pending) {
        Scene scene = scene_with(arena, config_line(arena, "a Pages=100"), host);

        judge(&scene, true);
        assert_verdict(&scene, "a", "pending");
        assert_text(instance_of(&scene, "a")->reason.text, "100 pages are still being reserved");
        assert_int_equal(scene.status->problems.list.n, 0);
        assert_text(verdict_name(scene.status->verdict), "pending");
}

TEST(refused) {
        Scene scene = scene_with(
                arena, config_line(arena, "a Pages=99999; b Pages=99999 Shortage=degrade"), host);

        apply_all(&scene);
        judge(&scene, false);
        assert_verdict(&scene, "a", "refused");
        assert_verdict(&scene, "b", "degraded");
        assert_text(verdict_name(scene.status->verdict), "refused"); /* the worst */
        assert_int_equal(instance_of(&scene, "a")->pages_granted, 0);
        assert_int_equal(instance_of(&scene, "b")->pages_granted, 2000);
        assert_int_equal(diags_count(&scene.status->problems, SEVERITY_ERROR), 1);
        assert_int_equal(diags_count(&scene.status->problems, SEVERITY_WARNING), 1);
        assert_contains(problems_text(arena, &scene.status->problems),
                        "/etc/hugeplan.d/a.conf: a is refused: 99,999 pages of 2M");
        assert_contains(problems_text(arena, &scene.status->problems), "b is degraded: ");
        assert_text(scene.status->problems.list.items[0].id, "not-enough-memory");
        /* Not enough memory does not become enough by working on it. */
        judge(&scene, true);
        assert_verdict(&scene, "a", "refused");
}

/* What a short instance is said to have is what is there, not what was planned for it. */
TEST(degraded_counts_what_is_there) {
        Scene scene = scene_with(arena, config_line(arena, "b Pages=99999 Shortage=degrade"), host);

        judge(&scene, false);
        assert_verdict(&scene, "b", "degraded");
        assert_int_equal(instance_of(&scene, "b")->pages_granted, 0);
        apply_all(&scene);
        lose_pages(&scene, 0, 30);
        judge(&scene, false);
        assert_int_equal(instance_of(&scene, "b")->pages_granted, 1970);
}

/* Fragmented memory may still come together, as long as work goes on. */
TEST(fragmented_is_pending) {
        PoolLimits limits = {};
        Scene scene = scene_with(arena, config_line(arena, "a Pages=100 Nodes=0"), host);

        *vec_push((Arena *) arena, &limits) =
                (PoolLimit){0, 2 * MIB, 40, {REASON_FRAGMENTED, "in pieces", "reboot"}};
        scene.plan = plan_with(arena, scene.config, scene.topology, scene.ledger, &limits);
        judge(&scene, true);
        assert_verdict(&scene, "a", "pending");
        judge(&scene, false);
        assert_verdict(&scene, "a", "refused");
        assert_text(instance_of(&scene, "a")->reason.text, "in pieces");
}

TEST(invalid) {
        Scene scene = scene_with(arena, config_line(arena, "a Memory=x; b Pages=1"), host);

        apply_all(&scene);
        judge(&scene, false);
        assert_verdict(&scene, "a", "invalid");
        assert_verdict(&scene, "b", "ready");
        assert_text(verdict_name(scene.status->verdict), "invalid");
        assert_contains(instance_of(&scene, "a")->reason.text,
                        "/etc/hugeplan.d/a.conf:2: Memory: 'x' is not valid here");
        assert_int_equal(scene.status->problems.list.n, 1); /* told once */
        assert_text(scene.status->problems.list.items[0].id, "config-bad-value");
}

/* Who insists on a hugetlb limit does not start without, though its pages stand. */
TEST(no_hugetlb_limit) {
        Scene scene = scene_with(
                arena, config_line(arena, "a Pages=10 Isolate=yes; b Pages=10; c Pages=x"), host);

        apply_all(&scene);
        judge(&scene, false);
        assert_int_equal(scene.status->instances[0].verdict, VERDICT_READY);

        scene.topology->no_hugetlb_limit =
                (Reason){REASON_NO_HUGETLB_LIMIT, "no such controller", "boot another"};
        scene.plan = plan_with(arena, scene.config, scene.topology, scene.ledger, NULL);
        judge(&scene, false);
        assert_int_equal(scene.status->instances[0].verdict, VERDICT_REFUSED);
        assert_int_equal(scene.status->instances[0].reason.kind, REASON_NO_HUGETLB_LIMIT);
        assert_text(scene.status->instances[0].reason.text, "no such controller");
        assert_int_equal(scene.status->instances[0].pages_granted, 10);
        assert_int_equal(scene.status->instances[1].verdict, VERDICT_READY);
        assert_int_equal(scene.status->instances[2].verdict, VERDICT_INVALID);
}

TEST(lost) {
        Scene scene = scene_with(arena, config_line(arena, "a Pages=100 Nodes=1"), host);

        apply_all(&scene);
        lose_pages(&scene, 1, 30);
        judge(&scene, false);
        assert_verdict(&scene, "a", "lost");
        assert_int_equal(instance_of(&scene, "a")->pages_granted, 70);
        assert_int_equal(instance_of(&scene, "a")->reason.kind, REASON_POOL_SHRANK);
        assert_contains(instance_of(&scene, "a")->reason.text, "node 1 no longer hold");
        assert_contains(instance_of(&scene, "a")->reason.text, " 30 of its pages");
        assert_contains(instance_of(&scene, "a")->reason.remedy, "hugeplanctl reload");
}

/* A single page is one too few. */
TEST(one_page_lost) {
        Scene scene = scene_with(arena, config_line(arena, "a Pages=100 Nodes=1"), host);

        apply_all(&scene);
        lose_pages(&scene, 1, 1);
        judge(&scene, false);
        assert_verdict(&scene, "a", "lost");
        assert_int_equal(instance_of(&scene, "a")->pages_granted, 99);
}

/* The pool is as it was, and somebody whom nobody knows has come: nothing was lowered. */
TEST(one_page_taken) {
        Scene scene =
                scene_with(arena, config_line(arena, "a Pages=100 Nodes=1 Unit=a.service"), host);

        apply_all(&scene);
        ((Pool *) topology_pool(scene.topology, 1, 2 * MIB))->free_pages -= 1;
        judge(&scene, false);
        assert_verdict(&scene, "a", "lost");
        assert_int_equal(instance_of(&scene, "a")->pages_granted, 99);
        assert_int_equal(instance_of(&scene, "a")->reason.kind, REASON_TAKEN);
        assert_text(instance_of(&scene, "a")->reason.text,
                    "others use pages of node 1, and 1 of its pages is missing");
        assert_contains(instance_of(&scene, "a")->reason.remedy, "who uses huge pages");

        /* That it is used and was lowered is another matter: then it has vanished. */
        lose_pages(&scene, 1, 1);
        judge(&scene, false);
        assert_int_equal(instance_of(&scene, "a")->pages_granted, 98);
        assert_int_equal(instance_of(&scene, "a")->reason.kind, REASON_POOL_SHRANK);
}

TEST(lost_but_degrade) {
        Scene scene = scene_with(arena, config_line(arena, "a Pages=100 Shortage=degrade"), host);

        apply_all(&scene);
        lose_pages(&scene, 0, 1);
        judge(&scene, false);
        assert_verdict(&scene, "a", "degraded");
        assert_true(verdict_lets_start(instance_of(&scene, "a")->verdict));
}

/* The least important instance is the one that is said to have lost. */
TEST(who_loses_first) {
        Scene scene = scene_with(
                arena,
                config_line(arena,
                            "a Pages=50 Nodes=0 Priority=10; b Pages=50 Nodes=0 Priority=90; c "
                            "Pages=50 Nodes=0"),
                host);

        apply_all(&scene);
        lose_pages(&scene, 0, 10);
        judge(&scene, false);
        assert_verdict(&scene, "a", "lost");
        assert_verdict(&scene, "b", "ready");
        assert_verdict(&scene, "c", "ready");
        assert_int_equal(instance_of(&scene, "a")->pages_granted, 40);
        lose_pages(&scene, 0, 60);
        judge(&scene, false);
        assert_verdict(&scene, "a", "lost");
        assert_verdict(&scene, "b", "ready");
        assert_verdict(&scene, "c", "lost");
        assert_int_equal(instance_of(&scene, "a")->pages_granted, 0);
        assert_int_equal(instance_of(&scene, "c")->pages_granted, 30);
}

/* Among equals, the later name. */
TEST(who_loses_among_equals) {
        Scene scene = scene_with(
                arena, config_line(arena, "a Pages=50 Nodes=0; b Pages=50 Nodes=0"), host);

        apply_all(&scene);
        lose_pages(&scene, 0, 10);
        judge(&scene, false);
        assert_verdict(&scene, "a", "ready");
        assert_verdict(&scene, "b", "lost");
}

/* Surplus pages of others do not stand in for lost ones: they vanish when they are given back. */
TEST(surplus_does_not_count) {
        Scene scene =
                scene_with(arena, config_line(arena, "a Pages=100 Nodes=0 Unit=a.service"), host);
        Pool *pool = (Pool *) topology_pool(scene.topology, 0, 2 * MIB);

        apply_all(&scene);
        pool->surplus_pages = 30;
        pool->free_pages -= 30;
        judge(&scene, false);
        assert_verdict(&scene, "a", "lost");
        assert_int_equal(instance_of(&scene, "a")->pages_granted, 70);
        assert_contains(problems_text(arena, &scene.status->problems),
                        "node 0 has 30 surplus pages of 2M, which vanish when they are given back");
        assert_int_equal(diags_count(&scene.status->problems, SEVERITY_NOTICE), 1);
        /* In use by its own unit, they are its own. */
        scene.running = running_make(arena, "hold a.service a 2M=0:100 counted\n"
                                            "unit a.service 2M=100/0:30\n");
        scene.ledger->holds = scene.running.holds;
        judge(&scene, false);
        assert_verdict(&scene, "a", "ready");
        assert_int_equal(instance_of(&scene, "a")->pages_granted, 100);
}

/* Pages of others in the pool are nobody's instance's. */
TEST(foreign_pages) {
        Scene scene = scene_with(arena, config_line(arena, "a Pages=100 Nodes=0"),
                                 "sizes 2M\nnode 0 total=20G free=4048M 2M=20/0\n");

        apply_all(&scene);
        judge(&scene, false);
        assert_verdict(&scene, "a", "ready");
        assert_int_equal(scene.status->pools[0].total_pages, 120);
        assert_int_equal(scene.status->pools[0].owned_pages, 100);
        assert_int_equal(scene.status->pools[0].foreign_pages, 20);
        lose_pages(&scene, 0, 1);
        judge(&scene, false);
        assert_verdict(&scene, "a", "lost");
}

TEST(pools) {
        Scene scene = scene_with(arena, config_make(arena, NULL),
                                 "sizes 1G 2M\n"
                                 "node 0 total=20G free=4G 2M=30/20/5 1G=2\n"
                                 "node 3 total=20G free=4G 2M=10 1G=-\n");

        judge(&scene, false);
        assert_int_equal(scene.status->n_pools, 3);
        const StatusPool *pools = scene.status->pools;

        assert_true(pools[0].page_size_bytes == GIB);
        assert_int_equal(pools[0].total_pages, 2);
        assert_int_equal(pools[1].node, 0);
        assert_int_equal(pools[1].total_pages, 30);
        assert_int_equal(pools[1].free_pages, 20);
        assert_int_equal(pools[1].surplus_pages, 5);
        assert_int_equal(pools[1].owned_pages, 0);
        assert_int_equal(pools[1].foreign_pages, 30);
        assert_int_equal(pools[2].node, 3);
        assert_int_equal(scene.status->reserved.n, 0);
}

/* ---- what is reserved ---- */

/* "b.service 2M:30 on 1; ? 2M:7": whose it is, and where alone it can be had. */
static char *reserved_text(Arena *arena, const Status *status) {
        Text text = text_in(arena);

        VEC_FOREACH(reserved, &status->reserved)
                text_printf(&text, "%s%s %s:%" PRIu64 "%s%s", text.length > 0 ? "; " : "",
                            reserved->unit ? reserved->unit : "?",
                            format_page_size(arena, reserved->page_size_bytes), reserved->pages,
                            id_set_is_empty(&reserved->nodes) ? "" : " on ",
                            id_set_is_empty(&reserved->nodes)
                                    ? ""
                                    : id_set_format(arena, &reserved->nodes));
        return arena_strdup(arena, text.length > 0 ? text_string(&text) : "-");
}

/* HugePages_Rsvd taken apart: without a page being lost or invented. */
TEST(reserved) {
        static const char pools[] = "sizes 1G 2M\n"
                                    "node 0 total=20G free=4G 2M=60/50 1G=2\n"
                                    "node 1 total=20G free=4G 2M=60/45\n"
                                    "reserved 2M=50\n"
                                    "reserved 1G=1\n";
        static const struct {
                const char *running, *reserved;
        } cases[] = {
                {"", "? 1G:1; ? 2M:50"},
                {"hold b.service b 2M=1:45 bind=1 counted\nunit b.service 2M=45/1:15 1G=1\n",
                 "b.service 1G:1 on 1; b.service 2M:30 on 1; ? 2M:20"},
                {"hold b.service b 2M=1:45 bind=1 counted\nunit b.service 2M=45/1:15\n"
                 "hold c.service c 2M=0:30 counted\nunit c.service 2M=30/0:10\n",
                 "? 1G:1; b.service 2M:30 on 1; c.service 2M:20"},
                /* Who is not counted is likely among those of nobody. */
                {"hold b.service b 2M=1:45 bind=1\nunit b.service\n",
                 "? 1G:1; b.service 2M:45 on 1; ? 2M:5"},
                /* So is what a mount keeps. */
                {"mount m 2M=25/10\n", "? 1G:1; ? 2M:15; ? 2M:35"},
                /* And both of one unit. */
                {"mount b 2M=25/10\nhold b.service b 2M=1:45 bind=1\nunit b.service\n",
                 "? 1G:1; b.service 2M:15 on 1; b.service 2M:20 on 1; ? 2M:15"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Scene scene =
                        scene_beside(arena, config_make(arena, NULL), pools, cases[i].running);

                judge(&scene, false);
                assert_text(reserved_text(arena, scene.status), cases[i].reserved);
        }
}

/* ---- units that run ---- */

static const char hundred[] = "sizes 2M\n"
                              "node 0 total=20G free=4G 2M=100\n"
                              "node 1 total=20G free=4G 2M=100\n";

static Scene scene_of_unit(Arena *arena, const char *lines, const char *host_text,
                           const char *running) {
        Scene scene = scene_beside(arena, config_line(arena, "a Unit=a.service %s", lines),
                                   host_text, running);

        plan_record(arena, scene.plan, scene.ledger);
        judge(&scene, false);
        return scene;
}

TEST(running) {
        static const char running[] =
                "hold a.service a 2M=0:60 counted\nunit a.service 2M=60/0:50\n";
        Scene scene = scene_of_unit(arena, "Pages=60\nNodes=0", hundred, "");

        assert_false(instance_of(&scene, "a")->is_running);
        scene = scene_of_unit(arena, "Pages=60\nNodes=0", hundred, running);
        assert_true(instance_of(&scene, "a")->is_running);
        assert_null(instance_of(&scene, "a")->until_restart);
        assert_verdict(&scene, "a", "ready");
        /* Nobody let it start. */
        scene = scene_of_unit(arena, "Pages=60\nNodes=0", hundred, "unit a.service\n");
        assert_true(instance_of(&scene, "a")->is_running);
        assert_null(instance_of(&scene, "a")->until_restart);
        assert_verdict(&scene, "a", "ready");
        /* A reload under way: nothing runs. */
        scene = scene_of_unit(arena, "Pages=60\nNodes=0", hundred, "hold x a 2M=0:60 tentative\n");
        assert_false(instance_of(&scene, "a")->is_running);
}

/* It has what it was started with until it is restarted, whatever is planned for it. */
TEST(until_restart) {
        static const char running[] =
                "hold a.service a 2M=0:60 counted\nunit a.service 2M=60/0:50\n";
        Scene scene = scene_of_unit(arena, "Pages=70\nNodes=0", hundred, running);
        const StatusHold *until = instance_of(&scene, "a")->until_restart;

        assert_verdict(&scene, "a", "ready");
        assert_int_equal(instance_of(&scene, "a")->pages_granted, 70);
        assert_non_null(until);
        assert_text(until->unit, "a.service");
        assert_int_equal(until->pages, 60);
        assert_int_equal(until->n_nodes, 1);
        assert_int_equal(until->nodes[0].pages, 60);
        /* As many, elsewhere. */
        scene = scene_of_unit(arena, "Pages=60\nNodes=1", hundred, running);
        assert_non_null(instance_of(&scene, "a")->until_restart);
        /* What it wants now is not to be had; it will not start like that another time. */
        scene = scene_of_unit(arena, "Pages=99999\nNodes=0", hundred, running);
        assert_verdict(&scene, "a", "refused");
        assert_true(instance_of(&scene, "a")->is_running);
        assert_int_equal(instance_of(&scene, "a")->until_restart->pages, 60);
}

/* What it has reserved and not touched is no longer there: touching it kills. */
TEST(running_and_lost) {
        static const char running[] =
                "hold a.service a 2M=1:60 bind=1 counted\nunit a.service 2M=60/1:10\n";
        static const char lines[] = "Pages=60\nNodes=1\nPlacement=bind";
        Scene scene = scene_of_unit(arena, lines,
                                    "sizes 2M\nnode 0 total=20G free=4G 2M=100\n"
                                    "node 1 total=20G free=4G 2M=60/50\nreserved 2M=50\n",
                                    running);

        assert_verdict(&scene, "a", "ready");
        lose_pages(&scene, 1, 7);
        judge(&scene, false);
        assert_verdict(&scene, "a", "lost");
        assert_int_equal(instance_of(&scene, "a")->reason.kind, REASON_POOL_SHRANK);
        assert_contains(
                instance_of(&scene, "a")->reason.text,
                "a.service runs, and 7 pages that it has reserved and not touched yet are no "
                "longer free on its nodes");
}

/* As long as the counts do not belong together nobody can say so; nor of pages of a size that this kernel does not
 * have. */
TEST(running_and_not_known_to_be_lost) {
        Scene scene = scene_of_unit(
                arena, "Pages=60\nNodes=1\nPlacement=bind",
                "sizes 2M\nnode 0 total=20G free=4G 2M=100\n"
                "node 1 total=20G free=4G 2M=60/50\nreserved 2M=50\n",
                "hold a.service a 2M=1:60 bind=1 counted\nunit a.service 2M=60/1:10\n");

        lose_pages(&scene, 1, 7);
        scene.running.use.is_moving = true;
        judge(&scene, false);
        assert_verdict(&scene, "a", "ready");
        scene.running.use.is_moving = false;
        judge(&scene, false);
        assert_verdict(&scene, "a", "lost");
        scene = scene_of_unit(arena, "Pages=60\nNodes=1", hundred,
                              "hold a.service a 1G=1:60 counted\nunit a.service\n");
        assert_true(instance_of(&scene, "a")->is_running);
        assert_verdict(&scene, "a", "ready");
}

/* Pages of who runs are not lost by being planned elsewhere, and are said of whom is gone. */
TEST(left) {
        Scene scene = scene_of_unit(arena, "Pages=10", hundred,
                                    "hold old.service old 2M=0:1/1:2\nunit old.service\n"
                                    "hold x y 2M=0:5 tentative\n");
        const Diag *problem = &scene.status->problems.list.items[0];

        assert_int_equal(scene.status->left.n, 1);
        assert_text(scene.status->left.items[0].instance, "old");
        assert_text(scene.status->left.items[0].unit, "old.service");
        assert_int_equal(scene.status->left.items[0].pages, 3);
        assert_int_equal(scene.status->left.items[0].n_nodes, 2);
        assert_int_equal(scene.status->problems.list.n, 1);
        assert_int_equal(problem->severity, SEVERITY_NOTICE);
        assert_text(problem->text,
                    "old.service keeps the 3 pages of 2M that it was started with for "
                    "old, which is described no longer, until it stops");
        assert_text(verdict_name(scene.status->verdict), "ready");
}

/* Somebody may take pages that a unit is bound to. */
TEST(exposure) {
        Scene scene =
                scene_of_unit(arena, "Pages=60\nNodes=1\nPlacement=bind",
                              "sizes 2M\nnode 0 total=20G free=2G 2M=40\n"
                              "node 1 total=20G free=2G 2M=60\nreserved 2M=100\n",
                              "hold a.service a 2M=1:60 bind=1 counted\nunit a.service 2M=60\n"
                              "hold c.service c 2M=0:40 counted\nunit c.service 2M=40\n");
        const char *problems = problems_text(arena, &scene.status->problems);

        assert_verdict(&scene, "a", "ready");
        assert_contains(problems,
                        "40 pages of 2M that a.service has reserved on node 1 and not touched "
                        "yet may be taken by c.service, which may take 40 there");
        assert_int_equal(diags_count(&scene.status->problems, SEVERITY_WARNING), 1);
}

#define HOST_OF_C \
        "sizes 2M\nnode 0 total=20G free=4G 2M=40\nnode 1 total=20G free=4G 2M=60\nreserved 2M="

/* What the pool has on top once the plan is applied is nobody's but a cover, whether a runs or is to start. */
TEST(cover) {
        static const char *const running[] = {
                "hold a.service a 2M=1:60 bind=1 counted\nunit a.service 2M=60\n"
                "hold c.service c 2M=0:40 counted\nunit c.service 2M=40\n",
                "hold c.service c 2M=0:40 counted\nunit c.service 2M=40\n",
        };

        for (size_t i = 0; i < ARRAY_LEN(running); i++) {
                Scene scene = scene_of_unit(arena, "Pages=60\nNodes=1\nPlacement=bind",
                                            i == 0 ? HOST_OF_C "100\n" : HOST_OF_C "40\n",
                                            running[i]);

                assert_int_equal(scene.status->covers.n, 0);
                apply_all(&scene);
                judge(&scene, false);
                assert_verdict(&scene, "a", "ready");
                assert_int_equal(scene.status->pools[1].total_pages, 100);
                assert_int_equal(scene.status->pools[1].owned_pages, 60);
                assert_int_equal(scene.status->pools[1].cover_pages, 40);
                assert_int_equal(scene.status->pools[1].foreign_pages, 0);
                assert_int_equal(scene.status->covers.n, 1);
                const Exposure *cover = scene.status->covers.items;

                assert_text(cover->unit, "a.service");
                assert_text(cover->taker, "c.service");
                assert_int_equal(cover->pages, 40);
                assert_text(id_set_format(arena, &cover->nodes), "1");
                assert_int_equal(scene.plan->covers.n, 1);
                assert_text(scene.plan->covers.items[0].unit, "a.service");
        }
}

/* b may take more of node 1 than c, and is bound to what is planned there for it: without c no cover was needed. */
TEST(cover_taker) {
        static const char *const running[] = {
                "hold a.service a 2M=1:60 bind=1 counted\nunit a.service 2M=60\n",
                "",
        };

        for (size_t i = 0; i < ARRAY_LEN(running); i++) {
                Scene scene = scene_of_unit(
                        arena, "Pages=60\nNodes=1\nPlacement=bind",
                        i == 0 ? "sizes 2M\nnode 0 total=20G free=4G 2M=40\n"
                                 "node 1 total=20G free=4G 2M=130\nreserved 2M=170\n"
                               : "sizes 2M\nnode 0 total=20G free=4G 2M=40\n"
                                 "node 1 total=20G free=4G 2M=130\nreserved 2M=110\n",
                        arena_printf(arena,
                                     "hold b.service b 2M=1:70 bind=1 counted\n"
                                     "unit b.service 2M=70\n"
                                     "hold c.service c 2M=0:40 counted\nunit c.service 2M=40\n%s",
                                     running[i]));

                assert_int_not_equal(scene.plan->covers.n, 0);
                VEC_FOREACH(cover, &scene.plan->covers) {
                        assert_text(cover->taker, "c.service");
                        assert_int_equal(cover->taker_pages, 40);
                }
        }
}

/* ---- who comes before ---- */

/* Its pages stand, and those that run may take some of them. */
TEST(lack) {
        static const char running[] = "hold c.service c 2M=0:40 counted\nunit c.service 2M=40\n";
        static const char now[] = "sizes 2M\nnode 0 total=20G free=2G 2M=40\n"
                                  "node 1 total=20G free=2G 2M=60\nreserved 2M=40\n";
        Scene scene = scene_of_unit(arena, "Pages=60\nNodes=1\nPlacement=bind", now, running);

        /* There is no memory for its cover: it never was ready. */
        assert_verdict(&scene, "a", "refused");
        scene.ledger->instances.items[0].was_ready = true;
        judge(&scene, false);
        assert_verdict(&scene, "a", "lost");
        assert_int_equal(instance_of(&scene, "a")->reason.kind, REASON_TAKEN);
        assert_contains(
                instance_of(&scene, "a")->reason.text,
                "40 of its 60 pages of 2M (120M) are not for it alone: node 1 has 60 free, of "
                "which c.service may take 40");
        judge(&scene, true);
        assert_verdict(&scene, "a", "pending");
        /* It was ready with fewer pages than it wants now, so that none of these have been lost. */
        scene.ledger->instances.items[0].pages_wanted = 59;
        judge(&scene, false);
        assert_verdict(&scene, "a", "refused");
        scene.ledger->instances.n = 0;
        judge(&scene, false);
        assert_verdict(&scene, "a", "refused");
        scene = scene_of_unit(arena, "Pages=60\nNodes=1\nPlacement=bind\nShortage=degrade", now,
                              running);
        assert_verdict(&scene, "a", "degraded");
        /* Once it runs, it is an exposure, no verdict. */
        scene = scene_of_unit(arena, "Pages=60\nNodes=1\nPlacement=bind", now,
                              arena_printf(arena, "%s%s", running,
                                           "hold a.service a 2M=1:60 bind=1\nunit a.service\n"));
        assert_verdict(&scene, "a", "ready");
}

TEST(nothing_described) {
        Scene scene = scene_with(arena, config_make(arena, NULL), host);

        judge(&scene, false);
        assert_text(verdict_name(scene.status->verdict), "ready");
        assert_int_equal(scene.status->n_instances, 0);
        assert_null(status_find(scene.status, "a"));
}

/* Nobody is harmed, and yet not all is well: a broken host file. */
TEST(host_errors) {
        Scene scene =
                scene_with(arena, config_line(arena, "00 [Host] KeepFree=x; a Pages=1"), host);

        apply_all(&scene);
        judge(&scene, false);
        assert_verdict(&scene, "a", "ready");
        assert_text(verdict_name(scene.status->verdict), "degraded");
}

TEST(names) {
        Verdict verdict = VERDICT_LOST;

        for (int i = VERDICT_READY; i <= VERDICT_LOST; i++) {
                assert_int_equal(verdict_from_name(verdict_name((Verdict) i), &verdict), 0);
                assert_int_equal(verdict, i);
                assert_int_equal(verdict_lets_start(verdict),
                                 i == VERDICT_READY || i == VERDICT_DEGRADED);
        }
        assert_int_equal(verdict_from_name("fine", &verdict), -EINVAL);
        assert_int_equal(verdict_from_name(NULL, &verdict), -EINVAL);
        assert_int_equal(verdict, VERDICT_LOST);
}

/* ---- what a starting unit needs ---- */

static Lack lack_in_order(Arena *arena, const StatusInput *input, const char *name) {
        return status_find(status_judge(arena, input), name)->lack;
}

/* As for somebody who starts where nobody reserves. */
static Lack lack_alone(Arena *arena, const StatusInput *input, const char *name) {
        const PlanInstance *planned = plan_find(input->plan, name);
        PlanStartings starting = {};
        StatusInput alone = *input;

        *vec_push(arena, &starting) = (PlanStarting){
                .instance = name,
                .unit = planned->demand->config->unit,
                .run = "",
                .policy = planned->demand->policy,
        };
        alone.starting = &starting;
        alone.is_alone = true;
        return lack_in_order(arena, &alone, name);
}

/* By what the host has NOW; MOUNT is what follows "mount a ". */
static uint64_t lack_with_mount(Arena *arena, const char *lines, const char *now,
                                const char *mount) {
        const Config *config = config_line(arena, "a Unit=a.service %s", lines);
        const Plan *plan = plan_simple(arena, config, host_make(arena, host));
        const Running running =
                running_make(arena, mount ? arena_printf(arena, "mount a %s\n", mount) : "");
        const StatusInput input = {
                .config = config,
                .plan = plan,
                .topology = host_make(arena, now),
                .use = &running.use,
                .ledger = ledger_new(arena, "boot"),
        };

        assert_int_equal(plan_find(plan, "a")->reason.kind, REASON_NONE);
        const uint64_t pages = lack_in_order(arena, &input, "a").pages;

        /* It is the only one. */
        assert_int_equal(lack_alone(arena, &input, "a").pages, pages);
        return pages;
}

static uint64_t lack_for_start(Arena *arena, const char *lines, const char *now) {
        return lack_with_mount(arena, lines, now, NULL);
}

TEST(lack_for_start) {
        static const char free_pages[] = "sizes 2M\nnode 0 total=20G 2M=60\nnode 1 total=20G 2M=40";
        static const char used[] = "sizes 2M\nnode 0 total=20G 2M=60/35\nnode 1 total=20G 2M=40";
        static const char promised[] =
                "sizes 2M\nnode 0 total=20G 2M=60\nnode 1 total=20G 2M=40\nreserved 2M=7";

        assert_int_equal(lack_for_start(arena, "Pages=100", free_pages), 0);
        assert_int_equal(lack_for_start(arena, "Pages=100", used), 25);
        assert_int_equal(lack_for_start(arena, "Pages=100", promised), 7);
        /* Unbound, any node's free pages will do. */
        assert_int_equal(lack_for_start(arena, "Pages=60\nNodes=1", free_pages), 0);
        /* Bound, only those of its nodes. */
        assert_int_equal(lack_for_start(arena, "Pages=60\nNodes=1\nPlacement=bind", free_pages),
                         20);
        /* The page size has gone altogether. */
        assert_int_equal(lack_for_start(arena, "Pages=60", "node 0 total=20G"), 60);
}

/* 100 pages of its own, and 40 that a neighbour was promised. */
TEST(lack_with_mount) {
        static const char untouched[] = "sizes 2M\nnode 0 total=20G 2M=140\nreserved 2M=100";
        static const char half_used[] = "sizes 2M\nnode 0 total=20G 2M=140/110\nreserved 2M=70";
        static const char all_used[] = "sizes 2M\nnode 0 total=20G 2M=140/80\nreserved 2M=40";
        static const char more_used[] = "sizes 2M\nnode 0 total=20G 2M=140/60\nreserved 2M=40";
        static const char not_reserved[] = "sizes 2M\nnode 0 total=20G 2M=100/40";
        static const char thief[] = "sizes 2M\nnode 0 total=20G 2M=140/110\nreserved 2M=100";
        static const struct {
                const char *now, *mount;
                uint64_t lack;
        } cases[] = {
                {untouched, NULL, 60},
                {untouched, "2M=60/0", 0},
                {untouched, "1G=60/60", 60}, /* of another page size */
                /* Files that it left there are its own, and count once. */
                {half_used, "2M=60/30", 0},
                {all_used, "2M=60/60", 0},
                {all_used, "2M=0/60", 0},
                {more_used, "2M=60/80", 0},
                /* Where nobody knows of files, what is not reserved any more must be in them. */
                {not_reserved, "2M=60/0", 0},
                /* What others take beside the mount is missing all the same. */
                {thief, "2M=60/0", 30},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_int_equal(lack_with_mount(arena, "Pages=100", cases[i].now, cases[i].mount),
                                 cases[i].lack);
}

/* The earmark is of no node, so it does not stand for pages that were taken from the bound one. */
TEST(lack_with_mount_bound) {
        static const char bound[] = "Pages=100\nNodes=1\nPlacement=bind";

        assert_int_equal(lack_with_mount(arena, bound,
                                         "sizes 2M\nnode 0 total=20G 2M=100\n"
                                         "node 1 total=20G 2M=100\nreserved 2M=100",
                                         "2M=100/0"),
                         0);
        assert_int_equal(lack_with_mount(arena, bound,
                                         "sizes 2M\nnode 0 total=20G 2M=100\n"
                                         "node 1 total=20G 2M=100/40\nreserved 2M=100",
                                         "2M=100/0"),
                         60);
}

/* The more important ones that do not run yet come before; who is asked for alone may come before them. */
TEST(lack_in_order) {
        const Config *config = config_line(
                arena, "a Pages=50 Unit=a.service; b Pages=50 Priority=60 Unit=b.service");
        const Plan *plan = plan_simple(arena, config, host_make(arena, host));
        const PlanInstance *a = plan_find(plan, "a");
        StatusInput input = {
                .config = config,
                .plan = plan,
                .topology = host_make(arena, "sizes 2M\nnode 0 total=20G 2M=80\n"
                                             "node 1 total=20G\nreserved 2M=10\n"),
                .ledger = ledger_new(arena, "boot"),
        };

        assert_int_equal(lack_in_order(arena, &input, "a").pages, 30);
        assert_int_equal(lack_in_order(arena, &input, "b").pages, 0);
        assert_int_equal(lack_alone(arena, &input, "a").pages, 0);
        /* It runs, and has mapped all of them: 60 are reserved. */
        const Running running = running_make(arena, "hold b.service b 2M=0:25/1:25 counted\n"
                                                    "unit b.service 2M=50\n");

        input.ledger = ledger_new(arena, "boot");
        ((Ledger *) input.ledger)->holds = running.holds;
        input.use = &running.use;
        ((Topology *) input.topology)->page_sizes[0].reserved_pages = 60;
        assert_int_equal(lack_in_order(arena, &input, "a").pages, 30);
        assert_int_equal(lack_alone(arena, &input, "a").pages, 30);
        const Lack lack = lack_alone(arena, &input, "a");

        assert_text(lack.taker, "b.service");
        assert_contains(
                plan_explain_lack(arena, a, &lack).text,
                "30 of its 50 pages of 2M (100M) are not for it alone: nodes 0-1 have 80 free, "
                "of which others may take 60, b.service 50 of them");
}

TEST(plan_verdict) {
        const Config *config = config_line(
                arena, "a Pages=1; b Pages=99999; c Pages=99999 Shortage=degrade; d Pages=x");
        const Plan *plan = plan_simple(arena, config, host_make(arena, host));

        assert_int_equal(plan_verdict(plan_find(plan, "a")), VERDICT_READY);
        assert_int_equal(plan_verdict(plan_find(plan, "b")), VERDICT_REFUSED);
        assert_int_equal(plan_verdict(plan_find(plan, "c")), VERDICT_DEGRADED);
        assert_int_equal(plan_verdict(plan_find(plan, "d")), VERDICT_INVALID);
}

/* Who may start: what the daemon's gates and a gate without a daemon say of the same instance. */
TEST(one_judge_of_starts) {
        static const PlanInstance planned = {.pages_wanted = 50, .page_size_bytes = 2 * MIB};
        static const PlanInstance exposed = {
                .pages_wanted = 50, .page_size_bytes = 2 * MIB, .exposed = {REASON_TAKEN}};
        static const struct {
                const char *what;
                const PlanInstance *planned;
                StartAsker asker;
                Verdict verdict;
                Shortage shortage;
                uint64_t wanted, lack, query_lack;
                Verdict expected;
                uint64_t expected_lack;
                const char *reason;
        } cases[] = {
                {"all is there", &planned, START_BY_UNIT, VERDICT_READY, SHORTAGE_REFUSE, 50, 0, 0,
                 VERDICT_READY, 0, "kept"},
                {"others may take some", &planned, START_BY_UNIT, VERDICT_READY, SHORTAGE_REFUSE,
                 50, 3, 0, VERDICT_REFUSED, 3, "in use by others"},
                {"a part will do", &planned, START_BY_UNIT, VERDICT_READY, SHORTAGE_DEGRADE, 50, 3,
                 0, VERDICT_DEGRADED, 3, "in use by others"},
                {"refused by plan, its lack is none", &planned, START_BY_UNIT, VERDICT_REFUSED,
                 SHORTAGE_REFUSE, 50, 3, 0, VERDICT_REFUSED, 0, "kept"},
                {"refused as exposed, its lack shrinks", &exposed, START_BY_UNIT, VERDICT_REFUSED,
                 SHORTAGE_REFUSE, 50, 3, 0, VERDICT_REFUSED, 3, "in use by others"},
                {"a query", &planned, START_QUERY, VERDICT_READY, SHORTAGE_REFUSE, 50, 3, 0,
                 VERDICT_READY, 0, "kept"},
                {"a restart in its unit", &planned, START_QUERY, VERDICT_READY, SHORTAGE_REFUSE, 50,
                 3, 7, VERDICT_REFUSED, 7, "in use by others"},
                {"invalid", &planned, START_BY_UNIT, VERDICT_INVALID, SHORTAGE_REFUSE, 50, 3, 0,
                 VERDICT_INVALID, 0, "kept"},
                {"alone, all free", &planned, START_BY_ITSELF, VERDICT_REFUSED, SHORTAGE_REFUSE, 50,
                 0, 0, VERDICT_READY, 0, NULL},
                {"alone, not free", &planned, START_BY_ITSELF, VERDICT_READY, SHORTAGE_REFUSE, 50,
                 50, 0, VERDICT_REFUSED, 50, "50 of its pages are not free"},
                {"alone, a part", &planned, START_BY_ITSELF, VERDICT_LOST, SHORTAGE_DEGRADE, 50, 3,
                 0, VERDICT_DEGRADED, 3, "3 of its pages are not free"},
                {"alone, of no known size", &planned, START_BY_ITSELF, VERDICT_DEGRADED,
                 SHORTAGE_REFUSE, 0, 0, 0, VERDICT_DEGRADED, 0, "kept"},
                {"alone, invalid", &planned, START_BY_ITSELF, VERDICT_INVALID, SHORTAGE_REFUSE, 50,
                 0, 0, VERDICT_INVALID, 0, "kept"},
        };

        ARRAY_FOREACH(each, cases, ARRAY_LEN(cases)) {
                StatusInstance instance = {.name = each->what,
                                           .verdict = each->verdict,
                                           .shortage = each->shortage,
                                           .pages_wanted = each->wanted,
                                           .reason = {.text = "kept"},
                                           .lack = {.pages = each->lack}};
                const Lack lack = {.pages = each->query_lack};

                print_message("%s\n", each->what);
                status_judge_start(arena, each->planned, each->asker, &lack, &instance);
                assert_text(verdict_name(instance.verdict), verdict_name(each->expected));
                assert_int_equal(instance.lack.pages, each->expected_lack);
                if (each->reason)
                        assert_contains(instance.reason.text, each->reason);
                else
                        assert_null(instance.reason.text);
        }
}
