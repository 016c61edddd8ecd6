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
        Plan *plan;
        Status *status;
} Scene;

static Scene scene_with(Arena *arena, const Config *config, const char *host_text) {
        Scene scene = {.arena = arena,
                       .config = config,
                       .topology = host_make(arena, host_text),
                       .ledger = ledger_new(arena, "boot")};

        scene.plan = plan_with(arena, config, scene.topology, scene.ledger, NULL);
        return scene;
}

/* As the daemon does: record, write, and remember what was set. */
static void apply_all(Scene *scene) {
        plan_record(scene->arena, scene->plan, scene->ledger);
        host_apply(scene->topology, scene->plan);
        for (size_t i = 0; i < scene->plan->n_pools; i++)
                ledger_pool(scene->ledger, scene->plan->pools[i].node,
                            scene->plan->pools[i].page_size_bytes)
                        ->set_pages = scene->plan->pools[i].to_pages;
}

static void judge(Scene *scene, bool is_working) {
        const StatusInput input = {
                .config = scene->config,
                .plan = scene->plan,
                .topology = scene->topology,
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

static void test_ready(void **state) {
        Scene scene = scene_with(
                *state,
                config_make(*state, "a.conf", "[Instance]\nPages=100\nUnit=a.service\n", NULL),
                host);

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
static void test_planned_is_not_ready(void **state) {
        Scene scene = scene_with(
                *state, config_make(*state, "a.conf", "[Instance]\nPages=100\n", NULL), host);

        judge(&scene, false);
        assert_verdict(&scene, "a", "refused");
        assert_int_equal(instance_of(&scene, "a")->pages_granted, 0);
        assert_int_equal(instance_of(&scene, "a")->reason.kind, REASON_POOL_SHRANK);
        assert_contains(instance_of(&scene, "a")->reason.text, "are not reserved");
        assert_int_equal(diags_count(&scene.status->problems, SEVERITY_ERROR), 1);
}

static void test_pending(void **state) {
        Scene scene = scene_with(
                *state, config_make(*state, "a.conf", "[Instance]\nPages=100\n", NULL), host);

        judge(&scene, true);
        assert_verdict(&scene, "a", "pending");
        assert_text(instance_of(&scene, "a")->reason.text, "100 pages are still being reserved");
        assert_int_equal(scene.status->problems.list.n, 0);
        assert_text(verdict_name(scene.status->verdict), "pending");
}

static void test_refused(void **state) {
        Scene scene =
                scene_with(*state,
                           config_make(*state, "a.conf", "[Instance]\nPages=99999\n", "b.conf",
                                       "[Instance]\nPages=99999\nShortage=degrade\n", NULL),
                           host);

        apply_all(&scene);
        judge(&scene, false);
        assert_verdict(&scene, "a", "refused");
        assert_verdict(&scene, "b", "degraded");
        assert_text(verdict_name(scene.status->verdict), "refused"); /* the worst */
        assert_int_equal(instance_of(&scene, "a")->pages_granted, 0);
        assert_int_equal(instance_of(&scene, "b")->pages_granted, 2000);
        assert_int_equal(diags_count(&scene.status->problems, SEVERITY_ERROR), 1);
        assert_int_equal(diags_count(&scene.status->problems, SEVERITY_WARNING), 1);
        assert_contains(problems_text(*state, &scene.status->problems),
                        "/etc/hugeplan.d/a.conf: a is refused: 99,999 pages of 2M");
        assert_contains(problems_text(*state, &scene.status->problems), "b is degraded: ");
        assert_text(scene.status->problems.list.items[0].id, "not-enough-memory");
        /* Not enough memory does not become enough by working on it. */
        judge(&scene, true);
        assert_verdict(&scene, "a", "refused");
}

/* What a short instance is said to have is what is there, not what was planned for it. */
static void test_degraded_counts_what_is_there(void **state) {
        Scene scene = scene_with(
                *state,
                config_make(*state, "b.conf", "[Instance]\nPages=99999\nShortage=degrade\n", NULL),
                host);

        judge(&scene, false);
        assert_verdict(&scene, "b", "degraded");
        assert_int_equal(instance_of(&scene, "b")->pages_granted, 0);
        apply_all(&scene);
        lose_pages(&scene, 0, 30);
        judge(&scene, false);
        assert_int_equal(instance_of(&scene, "b")->pages_granted, 1970);
}

/* Fragmented memory may still come together, as long as work goes on. */
static void test_fragmented_is_pending(void **state) {
        PoolLimits limits = {};
        Scene scene = scene_with(
                *state, config_make(*state, "a.conf", "[Instance]\nPages=100\nNodes=0\n", NULL),
                host);

        *vec_push((Arena *) *state, &limits) =
                (PoolLimit){0, 2 * MIB, 40, {REASON_FRAGMENTED, "in pieces", "reboot"}};
        scene.plan = plan_with(*state, scene.config, scene.topology, scene.ledger, &limits);
        judge(&scene, true);
        assert_verdict(&scene, "a", "pending");
        judge(&scene, false);
        assert_verdict(&scene, "a", "refused");
        assert_text(instance_of(&scene, "a")->reason.text, "in pieces");
}

static void test_invalid(void **state) {
        Scene scene = scene_with(*state,
                                 config_make(*state, "a.conf", "[Instance]\nMemory=x\n", "b.conf",
                                             "[Instance]\nPages=1\n", NULL),
                                 host);

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

/* Who insists on a fence does not start without, though its pages stand. */
static void test_no_fence(void **state) {
        Scene scene = scene_with(
                *state,
                config_make(*state, "a.conf", "[Instance]\nPages=10\nIsolate=yes\n", "b.conf",
                            "[Instance]\nPages=10\n", "c.conf", "[Instance]\nPages=x\n", NULL),
                host);

        apply_all(&scene);
        judge(&scene, false);
        assert_int_equal(scene.status->instances[0].verdict, VERDICT_READY);

        scene.topology->no_fence = (Reason){REASON_NO_FENCE, "no such controller", "boot another"};
        scene.plan = plan_with(*state, scene.config, scene.topology, scene.ledger, NULL);
        judge(&scene, false);
        assert_int_equal(scene.status->instances[0].verdict, VERDICT_REFUSED);
        assert_int_equal(scene.status->instances[0].reason.kind, REASON_NO_FENCE);
        assert_text(scene.status->instances[0].reason.text, "no such controller");
        assert_int_equal(scene.status->instances[0].pages_granted, 10);
        assert_int_equal(scene.status->instances[1].verdict, VERDICT_READY);
        assert_int_equal(scene.status->instances[2].verdict, VERDICT_INVALID);
}

static void test_lost(void **state) {
        Scene scene = scene_with(
                *state, config_make(*state, "a.conf", "[Instance]\nPages=100\nNodes=1\n", NULL),
                host);

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

static void test_lost_but_degrade(void **state) {
        Scene scene = scene_with(
                *state,
                config_make(*state, "a.conf", "[Instance]\nPages=100\nShortage=degrade\n", NULL),
                host);

        apply_all(&scene);
        lose_pages(&scene, 0, 1);
        judge(&scene, false);
        assert_verdict(&scene, "a", "degraded");
        assert_true(verdict_lets_start(instance_of(&scene, "a")->verdict));
}

/* The least important instance is the one that is said to have lost. */
static void test_who_loses_first(void **state) {
        Scene scene = scene_with(
                *state,
                config_make(*state, "a.conf", "[Instance]\nPages=50\nNodes=0\nPriority=10\n",
                            "b.conf", "[Instance]\nPages=50\nNodes=0\nPriority=90\n", "c.conf",
                            "[Instance]\nPages=50\nNodes=0\n", NULL),
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
static void test_who_loses_among_equals(void **state) {
        Scene scene = scene_with(*state,
                                 config_make(*state, "a.conf", "[Instance]\nPages=50\nNodes=0\n",
                                             "b.conf", "[Instance]\nPages=50\nNodes=0\n", NULL),
                                 host);

        apply_all(&scene);
        lose_pages(&scene, 0, 10);
        judge(&scene, false);
        assert_verdict(&scene, "a", "ready");
        assert_verdict(&scene, "b", "lost");
}

/* Surplus pages do not stand in for lost ones: they vanish when they are given back. */
static void test_surplus_does_not_count(void **state) {
        Scene scene = scene_with(
                *state, config_make(*state, "a.conf", "[Instance]\nPages=100\nNodes=0\n", NULL),
                host);

        apply_all(&scene);
        ((Pool *) topology_pool(scene.topology, 0, 2 * MIB))->surplus_pages = 30;
        judge(&scene, false);
        assert_verdict(&scene, "a", "lost");
        assert_int_equal(instance_of(&scene, "a")->pages_granted, 70);
        assert_contains(problems_text(*state, &scene.status->problems),
                        "node 0 has 30 surplus pages of 2M, which vanish when they are given back");
        assert_int_equal(diags_count(&scene.status->problems, SEVERITY_NOTICE), 1);
}

/* Pages of others in the pool are nobody's instance's. */
static void test_foreign_pages(void **state) {
        Scene scene = scene_with(
                *state, config_make(*state, "a.conf", "[Instance]\nPages=100\nNodes=0\n", NULL),
                "sizes 2M\nnode 0 total=20G free=4048M 2M=20/0\n");

        ledger_pool(scene.ledger, 0, 2 * MIB)->foreign_pages = 20;
        scene.plan = plan_with(*state, scene.config, scene.topology, scene.ledger, NULL);
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

static void test_pools(void **state) {
        Scene scene = scene_with(*state, config_make(*state, NULL),
                                 "sizes 1G 2M\n"
                                 "node 0 total=20G free=4G 2M=30/20/5 1G=2\n"
                                 "node 3 total=20G free=4G 2M=10 1G=-\n"
                                 "promised 2M=3\n");

        judge(&scene, false);
        assert_int_equal(scene.status->n_pools, 3);
        const StatusPool *pools = scene.status->pools;

        assert_true(pools[0].page_size_bytes == GIB);
        assert_int_equal(pools[0].total_pages, 2);
        assert_int_equal(pools[1].node, 0);
        assert_int_equal(pools[1].total_pages, 30);
        assert_int_equal(pools[1].free_pages, 20);
        assert_int_equal(pools[1].promised_pages, 2); /* in proportion to what is free */
        assert_int_equal(pools[1].surplus_pages, 5);
        assert_int_equal(pools[1].owned_pages, 0);
        assert_int_equal(pools[1].foreign_pages, 30);
        assert_int_equal(pools[2].node, 3);
        assert_int_equal(pools[2].promised_pages, 1);
}

static void test_nothing_described(void **state) {
        Scene scene = scene_with(*state, config_make(*state, NULL), host);

        judge(&scene, false);
        assert_text(verdict_name(scene.status->verdict), "ready");
        assert_int_equal(scene.status->n_instances, 0);
        assert_null(status_find(scene.status, "a"));
}

/* Nobody is harmed, and yet not all is well: a broken host file. */
static void test_host_errors(void **state) {
        Scene scene = scene_with(*state,
                                 config_make(*state, "00.conf", "[Host]\nKeepFree=x\n", "a.conf",
                                             "[Instance]\nPages=1\n", NULL),
                                 host);

        apply_all(&scene);
        judge(&scene, false);
        assert_verdict(&scene, "a", "ready");
        assert_text(verdict_name(scene.status->verdict), "degraded");
}

static void test_names(void **state) {
        Verdict verdict = VERDICT_LOST;

        (void) state;
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

static uint64_t missing_with_mount(Arena *arena, const char *lines, const char *now,
                                   const MountUse *mount) {
        const Config *config =
                config_make(arena, "a.conf", arena_printf(arena, "[Instance]\n%s\n", lines), NULL);
        const Plan *plan = plan_simple(arena, config, host_make(arena, host));

        assert_int_equal(plan_find(plan, "a")->reason.kind, REASON_NONE);
        return status_missing_for_start(host_make(arena, now), plan_find(plan, "a"), mount);
}

static uint64_t missing_for_start(Arena *arena, const char *lines, const char *now) {
        return missing_with_mount(arena, lines, now, &(MountUse){});
}

static void test_missing_for_start(void **state) {
        static const char free_pages[] = "sizes 2M\nnode 0 total=20G 2M=60\nnode 1 total=20G 2M=40";
        static const char used[] = "sizes 2M\nnode 0 total=20G 2M=60/35\nnode 1 total=20G 2M=40";
        static const char promised[] =
                "sizes 2M\nnode 0 total=20G 2M=60\nnode 1 total=20G 2M=40\npromised 2M=7";

        assert_int_equal(missing_for_start(*state, "Pages=100", free_pages), 0);
        assert_int_equal(missing_for_start(*state, "Pages=100", used), 25);
        assert_int_equal(missing_for_start(*state, "Pages=100", promised), 7);
        /* Unbound, any node's free pages will do. */
        assert_int_equal(missing_for_start(*state, "Pages=60\nNodes=1", free_pages), 0);
        /* Bound, only those of its nodes. */
        assert_int_equal(missing_for_start(*state, "Pages=60\nNodes=1\nPlacement=bind", free_pages),
                         20);
        /* The page size has gone altogether. */
        assert_int_equal(missing_for_start(*state, "Pages=60", "node 0 total=20G"), 60);
}

/* 100 pages of its own, and 40 that a neighbour was promised. */
static void test_missing_with_mount(void **state) {
        static const char untouched[] = "sizes 2M\nnode 0 total=20G 2M=140\npromised 2M=100";
        static const char half_used[] = "sizes 2M\nnode 0 total=20G 2M=140/110\npromised 2M=70";
        static const char all_used[] = "sizes 2M\nnode 0 total=20G 2M=140/80\npromised 2M=40";
        static const char thief[] = "sizes 2M\nnode 0 total=20G 2M=140/110\npromised 2M=100";
        const MountUse unknown = {2 * MIB, 60, 0}, half = {2 * MIB, 60, 30},
                       all = {2 * MIB, 60, 60}, more = {2 * MIB, 60, 80}, no_min = {2 * MIB, 0, 60},
                       other_size = {GIB, 60, 60};

        assert_int_equal(missing_for_start(*state, "Pages=100", untouched), 60);
        assert_int_equal(missing_with_mount(*state, "Pages=100", untouched, &unknown), 0);
        assert_int_equal(missing_with_mount(*state, "Pages=100", untouched, &other_size), 60);
        /* Files that it left there are its own, and count once. */
        assert_int_equal(missing_with_mount(*state, "Pages=100", half_used, &half), 0);
        assert_int_equal(missing_with_mount(*state, "Pages=100", all_used, &all), 0);
        assert_int_equal(missing_with_mount(*state, "Pages=100", all_used, &no_min), 0);
        assert_int_equal(missing_with_mount(*state, "Pages=100",
                                            "sizes 2M\nnode 0 total=20G 2M=140/60\npromised 2M=40",
                                            &more),
                         0);
        /* Where nobody knows of files, what is not promised any more must be in them. */
        assert_int_equal(missing_with_mount(*state, "Pages=100",
                                            "sizes 2M\nnode 0 total=20G 2M=100/40", &unknown),
                         0);
        /* What others take beside the mount is missing all the same. */
        assert_int_equal(missing_with_mount(*state, "Pages=100", thief, &unknown), 30);
}

/* The earmark is of no node, so it does not stand for pages that were taken from the bound one. */
static void test_missing_with_mount_bound(void **state) {
        static const char bound[] = "Pages=100\nNodes=1\nPlacement=bind";
        const MountUse mount = {2 * MIB, 100, 0};

        assert_int_equal(missing_with_mount(*state, bound,
                                            "sizes 2M\nnode 0 total=20G 2M=100\n"
                                            "node 1 total=20G 2M=100\npromised 2M=100",
                                            &mount),
                         0);
        assert_int_equal(missing_with_mount(*state, bound,
                                            "sizes 2M\nnode 0 total=20G 2M=100\n"
                                            "node 1 total=20G 2M=100/40\npromised 2M=100",
                                            &mount),
                         60);
}

static void test_plan_verdict(void **state) {
        const Config *config = config_make(*state, "a.conf", "[Instance]\nPages=1\n", "b.conf",
                                           "[Instance]\nPages=99999\n", "c.conf",
                                           "[Instance]\nPages=99999\nShortage=degrade\n", "d.conf",
                                           "[Instance]\nPages=x\n", NULL);
        const Plan *plan = plan_simple(*state, config, host_make(*state, host));

        assert_int_equal(plan_verdict(plan_find(plan, "a")), VERDICT_READY);
        assert_int_equal(plan_verdict(plan_find(plan, "b")), VERDICT_REFUSED);
        assert_int_equal(plan_verdict(plan_find(plan, "c")), VERDICT_DEGRADED);
        assert_int_equal(plan_verdict(plan_find(plan, "d")), VERDICT_INVALID);
}

/* Promises are shared out among the nodes without one being lost or invented. */
static void test_promises_add_up(void **state) {
        for (uint64_t promised = 0; promised <= 21; promised++) {
                const Topology *topology = host_make(*state, arena_printf(*state,
                                                                          "sizes 2M\n"
                                                                          "node 0 total=1G 2M=9/7\n"
                                                                          "node 1 total=1G 2M=5/0\n"
                                                                          "node 2 total=1G 2M=9/9\n"
                                                                          "node 5 total=1G 2M=5/5\n"
                                                                          "promised 2M=%" PRIu64,
                                                                          promised));
                uint64_t sum = 0;

                for (size_t i = 0; i < topology->n_nodes; i++) {
                        const Node *node = &topology->nodes[i];
                        uint64_t part = topology_promised_pages(topology, node->id, 2 * MIB);

                        assert_true(part <= node->pools[0].free_pages);
                        sum += part;
                }
                assert_int_equal(sum, promised);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_ready),
                TEST(test_planned_is_not_ready),
                TEST(test_pending),
                TEST(test_refused),
                TEST(test_degraded_counts_what_is_there),
                TEST(test_fragmented_is_pending),
                TEST(test_invalid),
                TEST(test_no_fence),
                TEST(test_lost),
                TEST(test_lost_but_degrade),
                TEST(test_who_loses_first),
                TEST(test_who_loses_among_equals),
                TEST(test_surplus_does_not_count),
                TEST(test_foreign_pages),
                TEST(test_pools),
                TEST(test_nothing_described),
                TEST(test_host_errors),
                TEST(test_names),
                TEST(test_missing_for_start),
                TEST(test_missing_with_mount),
                TEST(test_missing_with_mount_bound),
                TEST(test_plan_verdict),
                TEST(test_promises_add_up),
        };

        return RUN_TESTS(tests);
}
