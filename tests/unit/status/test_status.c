/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Verdicts of instances, and which instance has lost pages when some are missing. */

#include "base/size.h"
#include "status/status.h"
#include "support/testing.h"

static const char host[] = "sizes 2M\n"
                           "node 0 total=20G free=4048M\n"
                           "node 1 total=20G free=4048M\n"
                           "thp never\n";

/* A host over time. */
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

static const StatusInstance *instance_of(const Scene *scene, const char *name) {
        const StatusInstance *instance = status_find(scene->status, name);

        assert_non_null(instance);
        return instance;
}

#define assert_verdict(scene, name, word) \
        assert_text(verdict_name(instance_of((scene), (name))->verdict), (word))

/* ---- units that run ---- */

static Scene scene_of_unit(Arena *arena, const char *lines, const char *host_text,
                           const char *running) {
        Scene scene = scene_beside(arena, config_line(arena, "a Unit=a.service %s", lines),
                                   host_text, running);

        plan_record(arena, scene.plan, scene.ledger);
        judge(&scene, false);
        return scene;
}

#define HOST_OF_C \
        "sizes 2M\nnode 0 total=20G free=4G 2M=40\nnode 1 total=20G free=4G 2M=60\nreserved 2M="

/* ---- who comes before ---- */

/* All its pages are there, and running units may take some of them. */
TEST(lack) {
        static const char running[] = "hold c.service c 2M=0:40 counted\nunit c.service 2M=40\n";
        static const char now[] = "sizes 2M\nnode 0 total=20G free=2G 2M=40\n"
                                  "node 1 total=20G free=2G 2M=60\nreserved 2M=40\n";
        Scene scene = scene_of_unit(arena, "Pages=60\nNodes=1\nPlacement=bind", now, running);

        /* Without memory for its cover it was never ready. */
        assert_verdict(&scene, "a", "refused");
        scene.ledger->instances.items[0].was_ready = true;
        judge(&scene, false);
        assert_verdict(&scene, "a", "lost");
        assert_int_equal(instance_of(&scene, "a")->reason.kind, REASON_TAKEN);
        assert_contains(instance_of(&scene, "a")->reason.text,
                        "40 of its 60 pages of 2M (120M) are not reserved for it alone: "
                        "node 1 has 60 free, of which c.service may take 40");
        judge(&scene, true);
        assert_verdict(&scene, "a", "pending");
        /* It was ready with fewer pages than it wants now, so none of these have been lost. */
        scene.ledger->instances.items[0].pages_wanted = 59;
        judge(&scene, false);
        assert_verdict(&scene, "a", "refused");
        scene.ledger->instances.n = 0;
        judge(&scene, false);
        assert_verdict(&scene, "a", "refused");
        scene = scene_of_unit(arena, "Pages=60\nNodes=1\nPlacement=bind\nShortage=degrade", now,
                              running);
        assert_verdict(&scene, "a", "degraded");
        /* Once it runs, this is an exposure and no verdict. */
        scene = scene_of_unit(arena, "Pages=60\nNodes=1\nPlacement=bind", now,
                              arena_printf(arena, "%s%s", running,
                                           "hold a.service a 2M=1:60 bind=1\nunit a.service\n"));
        assert_verdict(&scene, "a", "ready");
}

TEST(names) {
        Verdict verdict = VERDICT_LOST;

        for (int i = VERDICT_READY; i <= VERDICT_LOST; i++) {
                assert_int_equal(verdict_from_name(verdict_name((Verdict) i), &verdict), 0);
                assert_int_equal(verdict, i);
                assert_int_equal(verdict_lets_start(verdict),
                                 i == VERDICT_READY || i == VERDICT_DEGRADED || i == VERDICT_ASIDE);
        }
        assert_int_equal(verdict_from_name("fine", &verdict), -EINVAL);
        assert_int_equal(verdict_from_name(NULL, &verdict), -EINVAL);
        assert_int_equal(verdict, VERDICT_LOST);
}

/* ---- what a starting unit needs ---- */

static Lack lack_in_order(Arena *arena, const StatusInput *input, const char *name) {
        return status_find(status_judge(arena, input), name)->lack;
}

/* As for a start on a host without reservations. */
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

/* By the host NOW; MOUNT is the text after "mount a ". */
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

        /* the only one */
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
        /* Without a policy, free pages of any node serve it. */
        assert_int_equal(lack_for_start(arena, "Pages=60\nNodes=1", free_pages), 0);
        /* Bound, only those of its nodes. */
        assert_int_equal(lack_for_start(arena, "Pages=60\nNodes=1\nPlacement=bind", free_pages),
                         20);
        /* The page size has disappeared. */
        assert_int_equal(lack_for_start(arena, "Pages=60", "node 0 total=20G"), 60);
}

/* 100 pages of its own, and 40 that a neighbour has reserved. */
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
                /* If files are unknown, pages that are no longer reserved must be in them. */
                {not_reserved, "2M=60/0", 0},
                /* Pages that others take besides the mount are missing. */
                {thief, "2M=60/0", 30},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_int_equal(lack_with_mount(arena, "Pages=100", cases[i].now, cases[i].mount),
                                 cases[i].lack);
}

/* Earmarked pages are on no particular node, so they do not replace pages missing on the bound one. */
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

/* More important instances that do not run come first; a single start may come before them. */
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
        /* It runs, and has mapped all pages: 60 are reserved. */
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
        assert_contains(plan_explain_lack(arena, a, &lack).text,
                        "30 of its 50 pages of 2M (100M) are not reserved for it alone: "
                        "nodes 0-1 have 80 free, of which others may take 60, b.service 50 "
                        "of them");
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

/* Which instances may start: the daemon's gates and a gate without a daemon agree. */
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
