/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The planner, rule by rule. What must hold on any host is in property/test_plan_properties.c. */

#include "base/size.h"
#include "support/testing.h"

/* Two nodes with 1000 pages of room each: 10% of 20G are kept, 2000 M beyond that are free. */
static const char even[] = "sizes 1G 2M\n"
                           "node 0 total=20G free=4048M\n"
                           "node 1 total=20G free=4048M\n";

static Plan *plan_one(Arena *arena, const char *host, const char *lines) {
        const Config *config = config_line(arena, "a %s", lines);

        assert_text(problems_text(arena, &config->problems), "");
        return plan_simple(arena, config, host_make(arena, host));
}

static const Reason *reason_of(const Plan *plan, const char *name) {
        return &plan_find(plan, name)->reason;
}

static void assert_short(const Plan *plan, const char *name, ReasonKind kind, const char *text) {
        assert_text(reason_id(reason_of(plan, name)->kind), reason_id(kind));
        assert_contains(reason_of(plan, name)->text, text);
        assert_non_null(reason_of(plan, name)->remedy);
}

/* ---- placements ---- */

TEST(spread) {
        const Plan *plan = plan_one(arena, even, "Pages=100");

        assert_grants(plan, "a", "0:50 1:50");
        assert_steps(plan, "0:2M:0->50 1:2M:0->50");
        assert_int_equal(plan_count_changed(plan), 2);
        assert_int_equal(reason_of(plan, "a")->kind, REASON_NONE);
        /* The odd page goes to the lowest number. */
        assert_grants(plan_one(arena, even, "Pages=101"), "a", "0:51 1:50");
        assert_grants(plan_one(arena, even, "Pages=1"), "a", "0:1");
}

TEST(pack) {
        static const char host[] = "sizes 2M\n"
                                   "node 0 total=20G free=4048M\n"  /* 1000 */
                                   "node 1 total=20G free=2448M\n"  /* 200 */
                                   "node 2 total=20G free=3048M\n"; /* 500 */

        /* The smallest node that takes all of it. */
        assert_grants(plan_one(arena, host, "Pages=100\nPlacement=pack"), "a", "1:100");
        assert_grants(plan_one(arena, host, "Pages=200\nPlacement=pack"), "a", "1:200");
        assert_grants(plan_one(arena, host, "Pages=201\nPlacement=pack"), "a", "2:201");
        assert_grants(plan_one(arena, host, "Pages=501\nPlacement=pack"), "a", "0:501");
        /* None does: the largest first, then the smallest that takes the rest. */
        assert_grants(plan_one(arena, host, "Pages=1150\nPlacement=pack"), "a", "0:1000 1:150");
        assert_grants(plan_one(arena, host, "Pages=1600\nPlacement=pack"), "a",
                      "0:1000 1:100 2:500");
        /* Ties go to the lowest number. */
        assert_grants(plan_one(arena, even, "Pages=10\nPlacement=pack"), "a", "0:10");
}

TEST(bind) {
        assert_grants(plan_one(arena, even, "Pages=10\nPlacement=bind\nNodes=1"), "a", "1:10");
        const Plan *plan = plan_one(arena, even, "Pages=1001\nPlacement=bind\nNodes=1");

        assert_grants(plan, "a", "-");
        assert_short(plan, "a", REASON_NOT_ENOUGH_MEMORY, "node 1 can give 1,000 (2G)");
}

TEST(split) {
        assert_grants(plan_one(arena, even, "NodeMemory=0:400M 1:20M"), "a", "0:200 1:10");
        const Plan *plan = plan_one(arena, even, "NodeMemory=0:20M 1:2002M");

        assert_grants(plan, "a", "-");
        assert_short(plan, "a", REASON_NOT_ENOUGH_MEMORY,
                     "on node 1 do not fit: it can give 1,000 beyond KeepFree=10%");
        assert_steps(plan, "-");
}

/* ---- capacity ---- */

TEST(limit_is_exact) {
        assert_grants(plan_one(arena, even, "Pages=2000"), "a", "0:1000 1:1000");
        const Plan *plan = plan_one(arena, even, "Pages=2001");

        assert_grants(plan, "a", "-");
        assert_steps(plan, "-");
        assert_short(plan, "a", REASON_NOT_ENOUGH_MEMORY, "can give 2,000 (3.9G)");
}

TEST(keep_free) {
        const Config *config =
                config_line(arena, "00 [Host] KeepFree=4028M; a Pages=20; b Pages=1");
        const Plan *plan = plan_simple(arena, config, host_make(arena, even));

        assert_grants(plan, "a", "0:10 1:10");
        assert_grants(plan, "b", "-");
        assert_true(plan->keep_free_bytes == 2 * 4028 * MIB);
}

TEST(page_cache) {
        static const char host[] = "sizes 2M\nnode 0 total=10G free=1034M cache=100M\n";
        const Config *without = config_line(arena, "00 [Host] Reclaim=no; a Pages=6");

        /* 10 M are free beyond KeepFree=, 100 M can be had from the page cache. */
        assert_grants(plan_one(arena, host, "Pages=55"), "a", "0:55");
        assert_grants(plan_one(arena, host, "Pages=56"), "a", "-");
        assert_grants(plan_simple(arena, without, host_make(arena, host)), "a", "-");
}

TEST(page_size_preference) {
        /* 2048M beyond KeepFree=: two pages of 1G, or 1024 of 2M. */
        static const char host[] = "sizes 1G 2M\nnode 0 total=20G free=4096M\n";

        const Plan *plan = plan_one(arena, host, "Memory=2G\nPageSize=1G,2M");

        assert_true(plan_find(plan, "a")->page_size_bytes == GIB);
        assert_grants(plan, "a", "0:2");
        plan = plan_one(arena, "sizes 1G 2M\nnode 0 total=20G free=4095M\n",
                        "Memory=1030M\nPageSize=1G,2M");
        assert_true(plan_find(plan, "a")->page_size_bytes == 2 * MIB);
        assert_grants(plan, "a", "0:515");
        /* Neither fits: the first choice is what it is told about. */
        plan = plan_one(arena, host, "Memory=4G\nPageSize=1G,2M");
        assert_short(plan, "a", REASON_NOT_ENOUGH_MEMORY, "4 pages of 1G");
}

/* ---- who is served ---- */

TEST(priority) {
        const Config *config = config_line(
                arena, "a Pages=1500; b Pages=1500 Priority=60; c Pages=500 Priority=0");
        const Plan *plan = plan_simple(arena, config, host_make(arena, even));

        assert_grants(plan, "b", "0:750 1:750");
        assert_grants(plan, "a", "-");           /* what it cannot use whole ... */
        assert_grants(plan, "c", "0:250 1:250"); /* ... goes to the next */
        assert_short(plan, "a", REASON_NOT_ENOUGH_MEMORY, "1,500 pages of 2M");
}

TEST(degrade) {
        const Config *config =
                config_line(arena, "a Pages=2500 Shortage=degrade Priority=90; b Pages=1500");
        const Plan *plan = plan_simple(arena, config, host_make(arena, even));

        /* A part, and only what nobody else could use whole. */
        assert_grants(plan, "b", "0:750 1:750");
        assert_grants(plan, "a", "0:250 1:250");
        assert_true(plan_find(plan, "a")->pages_wanted == 2500);
        assert_true(plan_find(plan, "a")->pages_granted == 500);
        assert_int_equal(reason_of(plan, "a")->kind, REASON_NOT_ENOUGH_MEMORY);
}

/* An instance that makes no sense here takes nothing, and nobody else's. */
TEST(reason_of_demand) {
        const Config *config = config_line(arena, "a Pages=10 Nodes=9 Priority=99; b Pages=10");
        const Plan *plan = plan_simple(arena, config, host_make(arena, even));

        assert_short(plan, "a", REASON_NODE_ABSENT, "node 9 does not exist");
        assert_grants(plan, "a", "-");
        assert_grants(plan, "b", "0:5 1:5");
}

/* ---- pools that are not empty ---- */

static Ledger *ledger_with_pool(Arena *arena, unsigned node, uint64_t found, uint64_t set) {
        Ledger *ledger = ledger_new(arena, "boot");

        *vec_push(arena, &ledger->pools) =
                (LedgerPool){node, 2 * MIB, .found_pages = found, .set_pages = set};
        return ledger;
}

static void add_ledger_instance(Arena *arena, Ledger *ledger, const char *name, uint64_t wanted,
                                unsigned node, uint64_t pages) {
        LedgerInstance *instance = vec_push(arena, &ledger->instances);

        *instance =
                (LedgerInstance){.name = name, .page_size_bytes = 2 * MIB, .pages_wanted = wanted};
        *vec_push(arena, &instance->grants) = (NodePages){node, pages};
}

/* Pages beyond those found are ours to give back, but none that are in use or promised. */
TEST(shrink) {
        const Config *config = config_make(arena, NULL);

        assert_steps(plan_with(arena, config,
                               host_make(arena, "sizes 2M\n"
                                                "node 0 total=20G free=4G "
                                                "2M=100\n"),
                               ledger_with_pool(arena, 0, 20, 100), NULL),
                     "0:2M:100->20");
        /* 40 in use. */
        assert_steps(plan_with(arena, config,
                               host_make(arena, "sizes 2M\n"
                                                "node 0 total=20G free=4G "
                                                "2M=100/60\n"),
                               ledger_with_pool(arena, 0, 20, 100), NULL),
                     "0:2M:100->40");
        /* 40 in use and 10 promised. */
        assert_steps(plan_with(arena, config,
                               host_make(arena, "sizes 2M\n"
                                                "node 0 total=20G free=4G "
                                                "2M=100/60\n"
                                                "reserved 2M=10\n"),
                               ledger_with_pool(arena, 0, 20, 100), NULL),
                     "0:2M:100->50");
        /* More in use than is persistent: nothing is to be done, and nothing is raised. */
        assert_steps(plan_with(arena, config,
                               host_make(arena, "sizes 2M\n"
                                                "node 0 total=20G free=4G "
                                                "2M=100/0/10\n"),
                               ledger_with_pool(arena, 0, 20, 90), NULL),
                     "-");
}

/* While not all is known that is wanted, nothing is given back. */
TEST(nothing_given_back_by_half) {
        static const struct {
                bool is_incomplete;
                const char *steps;
        } cases[] = {{false, "0:2M:100->0"}, {true, "-"}};
        const Config *config = config_make(arena, NULL);
        const Topology *host = host_make(arena, "sizes 2M\nnode 0 total=20G free=4G 2M=100\n");

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const PlanInput input = {
                        .host = &config->host,
                        .demand = demand_compute(arena, config, host, NULL),
                        .topology = host,
                        .ledger = ledger_with_pool(arena, 0, 0, 100),
                        .is_incomplete = cases[i].is_incomplete,
                };

                assert_steps(plan_make(arena, &input), cases[i].steps);
        }
}

/* Looked at each time: who leaves has nothing. What is promised to nobody who is known is others',
 * too. */
TEST(others_leave) {
        static const struct {
                const char *counts, *reserved;
                uint64_t others;
        } steps[] = {{"60/30", "0", 30}, {"60/40", "0", 20},    {"60/40", "7", 27},
                     {"60", "0", 0},     {"30/12/15", "0", 18}, {"60/40", "50", 60}};
        Ledger *ledger = ledger_with_pool(arena, 0, 0, 60);
        const Config *config = config_make(arena, NULL);

        for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
                const Topology *host = host_printf(arena,
                                                   "sizes 2M\nnode 0 total=20G free=4G 2M=%s\n"
                                                   "reserved 2M=%s\n",
                                                   steps[i].counts, steps[i].reserved);
                const Plan *plan = plan_with(arena, config, host, ledger, NULL);

                assert_int_equal(plan_pool(plan, 0, 2 * MIB)->others_pages, steps[i].others);
        }
}

/* Nobody knows whether an instance without a unit runs. What has come into use where its pages are is likely
 * its own; it keeps that even if there is no more for it. */
TEST(without_unit) {
        static const struct {
                const char *counts;
                unsigned before, reserved, pages;
                const char *grants, *steps;
        } cases[] = {
                {"100/40", 0, 0, 100, "0:100", "-"},
                {"100/40", 0, 30, 100, "0:100", "-"},
                /* 50 were others' before. */
                {"150/40", 50, 0, 100, "0:100", "-"},
                {"100/40", 50, 0, 100, "0:100", "0:2M:100->150"},
                /* It was changed since, and does not fit any more. */
                {"100/40", 0, 0, 20000, "-", "0:2M:100->60"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Topology *host = host_printf(arena,
                                                   "sizes 2M\nnode 0 total=20G free=4G 2M=%s\n"
                                                   "reserved 2M=%u\n",
                                                   cases[i].counts, cases[i].reserved);
                const Config *config = config_line(arena, "a Pages=%u", cases[i].pages);
                Ledger *ledger = ledger_with_pool(arena, 0, 0, 100);

                ledger->pools.items[0].others_pages = cases[i].before;
                add_ledger_instance(arena, ledger, "a", 100, 0, 100);
                const Plan *plan = plan_with(arena, config, host, ledger, NULL);

                assert_grants(plan, "a", cases[i].grants);
                assert_steps(plan, cases[i].steps);
        }
}

/* What a mount has, earmarked or in files, is its instance's: running, about to, or stopped. */
TEST(mount_is_its_own) {
        static const struct {
                const char *counts, *running;
                unsigned reserved;
        } cases[] = {
                {"140/140", "mount a 2M=100/0\n", 100},
                {"140/40", "mount a 2M=100/100\n", 0},
                {"140/140",
                 "mount a 2M=100/0\nhold a.service a 2M=0:100 counted\n"
                 "unit a.service 2M=100\n",
                 100},
                {"140/140", "mount a 2M=100/0\nhold a.service a 2M=0:100\nunit a.service\n", 100},
                {"140/40",
                 "mount a 2M=100/100\nhold a.service a 2M=0:100 counted\n"
                 "unit a.service 2M=0\n",
                 0},
        };
        const Config *config =
                config_line(arena, "a Pages=100 Unit=a.service; b Pages=40 Unit=b.service");

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Topology *host = host_printf(arena,
                                                   "sizes 2M\nnode 0 total=20G free=4G 2M=%s\n"
                                                   "reserved 2M=%u\n",
                                                   cases[i].counts, cases[i].reserved);
                const Running running = running_make(arena, cases[i].running);
                Ledger *ledger = ledger_with_pool(arena, 0, 0, 140);

                add_ledger_instance(arena, ledger, "a", 100, 0, 100);
                add_ledger_instance(arena, ledger, "b", 40, 0, 40);
                const Plan *plan = plan_beside(arena, config, host, ledger, &running);

                assert_steps(plan, "-");
                assert_grants(plan, "a", "0:100");
                assert_grants(plan, "b", "0:40");
        }
}

/* A mount's files are on other nodes than was planned: then others' pages are in turn. */
TEST(mount_elsewhere) {
        static const char *const running[] = {
                "mount a 2M=100/100\n",
                "mount a 2M=100/100\nhold a.service a 2M=0:50/1:50 counted\nunit a.service 2M=0\n",
        };
        const Config *config =
                config_line(arena, "a Pages=100 Unit=a.service; b Pages=40 Unit=b.service");
        const Topology *host = host_make(arena, "sizes 2M\nnode 0 total=20G free=4G 2M=70/0\n"
                                                "node 1 total=20G free=4G 2M=70/40\n");

        for (size_t i = 0; i < ARRAY_LEN(running); i++) {
                const Running who = running_make(arena, running[i]);
                Ledger *ledger = ledger_with_pool(arena, 0, 0, 70);

                *vec_push((Arena *) arena, &ledger->pools) =
                        (LedgerPool){.node = 1, .page_size_bytes = 2 * MIB, .set_pages = 70};
                add_ledger_instance(arena, ledger, "a", 100, 0, 50);
                add_ledger_instance(arena, ledger, "b", 40, 0, 20);
                VEC_FOREACH(instance, &ledger->instances)
                        *vec_push((Arena *) arena, &instance->grants) =
                                (NodePages){1, instance->grants.items[0].pages};
                assert_steps(plan_beside(arena, config, host, ledger, &who), "-");
        }
}

/* What stood is not given back when others have come: the instance waits for them to go. */
TEST(what_stood_stays) {
        static const char host[] = "sizes 2M\nnode 0 total=20G free=2G 2M=100/70\n"; /* no more */
        static const struct {
                bool has_stood, is_released;
                unsigned pages;
                const char *grants, *steps;
        } cases[] = {
                {true, false, 100, "0:70", "-"},
                {false, false, 100, "-", "0:2M:100->30"},
                {true, true, 100, "-", "0:2M:100->30"},
                {true, false, 101, "0:70", "-"}, /* it wants more than there is */
                {true, false, 60000, "0:70", "-"},
                {false, false, 101, "-", "0:2M:100->30"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Config *config =
                        config_line(arena, "a Pages=%u Unit=a.service", cases[i].pages);
                Ledger *ledger = ledger_with_pool(arena, 0, 0, 100);

                add_ledger_instance(arena, ledger, "a", 100, 0, 100);
                ledger->instances.items[0].has_stood = cases[i].has_stood;
                ledger->instances.items[0].is_released = cases[i].is_released;
                const Plan *plan = plan_with(arena, config, host_make(arena, host), ledger, NULL);

                assert_grants(plan, "a", cases[i].grants);
                assert_steps(plan, cases[i].steps);
                /* What it wants is known, whether or not it gets that. */
                assert_int_equal(plan->instances[0].page_size_bytes, 2 * MIB);
                assert_int_equal(plan->instances[0].pages_wanted, cases[i].pages);
        }
}

/* Who has all that it wants stands, once it is there; and is ready where nobody may take any of it. */
TEST(who_stands) {
        static const struct {
                const char *lines, *host;
                bool stands, is_ready;
        } cases[] = {
                {"Pages=100\nUnit=a.service", "node 0 total=20G free=2G 2M=100\n", true, true},
                {"Pages=1\nUnit=a.service", "node 0 total=20G free=2G 2M=1\n", true, true},
                {"Pages=100\nShortage=degrade", "node 0 total=20G free=2G 2M=99\n", false, false},
                {"Pages=100", "node 0 total=20G free=4G 2M=0\n", false, false}, /* not yet */
                /* c.service may take 40, and there is no memory for a cover. */
                {"Pages=60\nNodes=0\nPlacement=bind\nUnit=a.service",
                 "node 0 total=20G free=2G 2M=60\nnode 1 total=20G free=2G 2M=40\nreserved 2M=40\n",
                 true, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Config *config = config_line(arena, "a %s", cases[i].lines);
                Running running = running_make(arena, cases[i].stands && !cases[i].is_ready
                                                              ? "hold c.service c 2M=1:40 counted\n"
                                                                "unit c.service 2M=40\n"
                                                              : "");
                Ledger *ledger = ledger_new(arena, "boot");
                const Plan *plan = plan_beside(arena, config,
                                               host_printf(arena, "sizes 2M\n%s", cases[i].host),
                                               ledger, &running);

                plan_record(arena, plan, ledger);
                plan_note_ready(plan, ledger);
                assert_int_equal(ledger_instance(ledger, "a") &&
                                         ledger_instance(ledger, "a")->has_stood,
                                 cases[i].stands);
                assert_int_equal(ledger_instance(ledger, "a") &&
                                         ledger_instance(ledger, "a")->was_ready,
                                 cases[i].is_ready);
        }
}

/* But not on a node that it may no longer use. */
TEST(what_stood_elsewhere) {
        const Config *config = config_line(arena, "a Pages=100 Nodes=0 Unit=a.service");
        Ledger *ledger = ledger_with_pool(arena, 0, 0, 50);

        *vec_push((Arena *) arena, &ledger->pools) = (LedgerPool){1, 2 * MIB, .set_pages = 50};
        add_ledger_instance(arena, ledger, "a", 100, 0, 50);
        *vec_push((Arena *) arena, &ledger->instances.items[0].grants) = (NodePages){1, 50};
        ledger->instances.items[0].has_stood = true;
        const Plan *plan = plan_with(arena, config,
                                     host_make(arena, "sizes 2M\n"
                                                      "node 0 total=20G free=2G 2M=50\n"
                                                      "node 1 total=20G free=2G 2M=50\n"),
                                     ledger, NULL);

        assert_grants(plan, "a", "0:50");
        assert_steps(plan, "1:2M:50->0");
}

/* Nor beside a part: that is what is left of them. */
TEST(what_stood_as_part) {
        const Config *config = config_make(
                arena, "a.conf", "[Instance]\nNodeMemory=0:200M 1:200M\nShortage=degrade\n", NULL);
        Ledger *ledger = ledger_with_pool(arena, 0, 250, 250);

        add_ledger_instance(arena, ledger, "a", 200, 0, 100);
        *vec_push((Arena *) arena, &ledger->instances.items[0].grants) = (NodePages){1, 100};
        ledger->instances.items[0].has_stood = true;
        const Plan *plan = plan_with(arena, config,
                                     host_make(arena, "sizes 2M\n"
                                                      "node 0 total=20G free=2G 2M=250\n"
                                                      "node 1 total=20G free=2G 2M=20\n"),
                                     ledger, NULL);

        assert_grants(plan, "a", "0:100 1:20");
}

/* Short by what others hold: that is the reason, not the host's memory. */
TEST(taken) {
        const Config *config = config_line(arena, "a Pages=300");
        const Plan *plan = plan_with(
                arena, config, host_make(arena, "sizes 2M\nnode 0 total=2G free=300M 2M=300/100\n"),
                ledger_with_pool(arena, 0, 0, 300), NULL);

        assert_int_equal(plan_find(plan, "a")->reason.kind, REASON_TAKEN);
        assert_non_null(strstr(plan_find(plan, "a")->reason.text, "others hold 200 pages of 2M"));
}

/* ---- the ledger ---- */

/* An unchanged instance never moves, though it would be spread today. */
TEST(stays_where_it_is) {
        const Config *config = config_line(arena, "a Pages=100");
        Ledger *ledger = ledger_with_pool(arena, 0, 0, 100);

        add_ledger_instance(arena, ledger, "a", 100, 0, 100);
        const Plan *plan = plan_with(arena, config,
                                     host_make(arena, "sizes 2M\n"
                                                      "node 0 total=20G free=4G 2M=100\n"
                                                      "node 1 total=20G free=4G\n"),
                                     ledger, NULL);

        assert_grants(plan, "a", "0:100");
        assert_steps(plan, "-");
}

/* As many pages of another size are another preference. */
TEST(moves_with_another_size) {
        const Config *config = config_line(arena, "a Pages=3");
        Ledger *ledger = ledger_new(arena, "boot");

        add_ledger_instance(arena, ledger, "a", 3, 1, 3);
        ledger->instances.items[0].page_size_bytes = GIB;
        assert_grants(plan_with(arena, config, host_make(arena, even), ledger, NULL), "a",
                      "0:2 1:1");
}

/* Another demand, another placement or other nodes: it is placed anew. */
TEST(moves_when_changed) {
        static const char host[] = "sizes 2M\n"
                                   "node 0 total=20G free=4G 2M=100\n"
                                   "node 1 total=20G free=4G\n";
        static const struct {
                const char *lines, *grants, *steps;
        } cases[] = {
                {"Pages=102", "0:51 1:51", "0:2M:100->51 1:2M:0->51"},
                {"Pages=100\nPlacement=bind\nNodes=0-1", "0:50 1:50", "0:2M:100->50 1:2M:0->50"},
                {"Pages=100\nNodes=1", "1:100", "0:2M:100->0 1:2M:0->100"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Ledger *ledger = ledger_with_pool(arena, 0, 0, 100);
                const Config *config = config_line(arena, "a %s", cases[i].lines);

                add_ledger_instance(arena, ledger, "a", 100, 0, 100);
                const Plan *plan = plan_with(arena, config, host_make(arena, host), ledger, NULL);

                assert_grants(plan, "a", cases[i].grants);
                assert_steps(plan, cases[i].steps);
        }
}

/* A part may be a single page; what was whole takes its turn again, and what was released is nobody's. */
TEST(what_is_a_part) {
        static const struct {
                uint64_t pages;
                bool is_released;
                const char *newcomer, *part;
        } cases[] = {
                {1, false, "-", "0:900"},
                {900, false, "0:1000", "-"},
                {1, true, "0:1000", "-"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Config *config = config_line(
                        arena, "new Pages=1000 Nodes=0; part Pages=900 Nodes=0 Shortage=degrade");
                Ledger *ledger = ledger_new(arena, "boot");

                add_ledger_instance(arena, ledger, "part", 900, 0, cases[i].pages);
                ledger->instances.items[0].is_released = cases[i].is_released;
                const Plan *plan = plan_with(arena, config, host_make(arena, even), ledger, NULL);

                assert_grants(plan, "new", cases[i].newcomer);
                assert_grants(plan, "part", cases[i].part);
        }
}

/* Its unit runs with a part, and the rest is just enough: it comes at its turn, as anybody's. */
TEST(rest_in_turn) {
        static const struct {
                unsigned priority;
                const char *part, *new;
        } rows[] = {{99, "0:999 1:1000", "0:1"}, {1, "0:1000 1:1000", "-"}};

        ARRAY_FOREACH(row, rows, ARRAY_LEN(rows)) {
                const char *new =
                        arena_printf(arena, "[Instance]\nPages=1\nPriority=%u\n", row->priority);
                const Config *config = config_make(
                        arena, "new.conf", new, "part.conf",
                        "[Instance]\nPages=2000\nShortage=degrade\nUnit=part.service\n", NULL);
                const Running running = running_make(arena,
                                                     "hold part.service part 2M=0:600 wanted=2000\n"
                                                     "unit part.service\n");
                Ledger *ledger = ledger_new(arena, "boot");

                add_ledger_instance(arena, ledger, "part", 2000, 0, 600);
                const Plan *plan =
                        plan_beside(arena, config, host_make(arena, even), ledger, &running);

                assert_grants(plan, "part", row->part);
                assert_grants(plan, "new", row->new);
        }
}

/* A file that was broken since: its pages stay until it is mended, and go to nobody else. */
TEST(broken_file_keeps_pages) {
        const Config *config = config_line(arena, "a Memory=x; b Pages=1000 Nodes=0 Priority=99");
        Ledger *ledger = ledger_with_pool(arena, 0, 0, 100);

        add_ledger_instance(arena, ledger, "a", 100, 0, 100);
        const Plan *plan = plan_with(arena, config,
                                     host_make(arena, "sizes 2M\n"
                                                      "node 0 total=20G free=3848M 2M=100\n"),
                                     ledger, NULL);

        assert_grants(plan, "a", "0:100");
        assert_int_equal(plan_find(plan, "a")->pages_wanted, 100);
        assert_int_equal(plan_find(plan, "a")->page_size_bytes, 2 * MIB);
        assert_int_equal(reason_of(plan, "a")->kind, REASON_CONFIG);
        assert_grants(plan, "b", "-"); /* 100 + 900, and 100 are a's */
        assert_steps(plan, "-");
        /* Also where there is no memory beside them. */
        plan = plan_with(arena, config,
                         host_make(arena, "sizes 2M\nnode 0 total=20G free=1G 2M=100\n"), ledger,
                         NULL);
        assert_grants(plan, "a", "0:100");
        /* Removed altogether, it gives them back. */
        config = config_make(arena, NULL);
        plan = plan_with(arena, config,
                         host_make(arena, "sizes 2M\nnode 0 total=20G free=3848M 2M=100\n"), ledger,
                         NULL);
        assert_steps(plan, "0:2M:100->0");
}

TEST(record) {
        const Config *config = config_line(arena, "a Pages=100 Placement=pack; b Pages=999999");
        Ledger *ledger = ledger_new(arena, "boot");
        const Plan *plan = plan_with(arena, config, host_make(arena, even), ledger, NULL);

        add_ledger_instance(arena, ledger, "gone", 5, 0, 5);
        add_ledger_instance(arena, ledger, "a", 99, 0, 99);
        ledger_note_refusal(arena, ledger, "gone", "", "refused");
        ledger_note_refusal(arena, ledger, "b", "", "refused");
        plan_record(arena, plan, ledger);
        assert_int_equal(ledger->instances.n, 1); /* nothing is recorded of who has nothing */
        const LedgerInstance *a = ledger_instance(ledger, "a");

        assert_int_equal(a->placement, PLACEMENT_PACK);
        assert_true(ledger_granted_pages(a) == 100);
        assert_int_equal(ledger->refusals.n, 1); /* nor of who is described no longer */
        assert_text(ledger->refusals.items[0].instance, "b");
}

/* What was let start is another record: it stays as it was. */
TEST(record_keeps_holds) {
        const Config *config = config_line(arena, "a Pages=101 Unit=a.service");
        const Running running =
                running_make(arena, "hold a.service a 2M=0:40/1:60\nunit a.service\n");
        Ledger *ledger = ledger_new(arena, "boot");
        const Plan *plan = plan_beside(arena, config, host_make(arena, even), ledger, &running);

        plan_record(arena, plan, ledger);
        assert_true(ledger_granted_pages(ledger_instance(ledger, "a")) == 101);
        assert_int_equal(ledger->holds.n, 1);
        assert_true(ledger_granted_pages(&ledger->holds.items[0].granted) == 100);
}

/* ---- units that run ---- */

/* 100 pages on node 0 that hugeplan has put there, and room for as many as one likes. */
static const char hundred[] = "sizes 1G 2M\n"
                              "node 0 total=20G free=12G 2M=100\n"
                              "node 1 total=20G free=12G\n";

static bool is_running(Arena *arena, const PlanInput *input, const Plan *plan, const char *name) {
        return plan_find_running(arena, input, plan, NULL)[plan_find(plan, name) - plan->instances];
}

static Plan *plan_running(Arena *arena, const char *host, const char *lines, const char *running) {
        const Config *config = config_line(arena, "a Unit=a.service %s", lines);
        const Running who = running_make(arena, running);

        assert_text(problems_text(arena, &config->problems), "");
        return plan_beside(arena, config, host_make(arena, host),
                           ledger_with_pool(arena, 0, 0, 100), &who);
}

/* What is wanted now is planned beside what it runs with: of each pool the larger of both counts. */
TEST(changed_beside_hold) {
        static const struct {
                const char *lines, *grants, *steps;
                uint64_t granted[2]; /* of 2M, by node */
                bool is_waiting;
        } cases[] = {
                {"Pages=100\nNodes=0", "0:100", "-", {100, 0}, false},
                {"Pages=150\nNodes=0", "0:150", "0:2M:100->150", {150, 0}, true},
                {"Pages=40\nNodes=0", "0:40", "-", {100, 0}, true},
                {"Pages=100\nNodes=1", "1:100", "1:2M:0->100", {100, 100}, true},
                {"Pages=102", "0:51 1:51", "1:2M:0->51", {100, 51}, true},
                {"Pages=1\nNodes=0\nPageSize=1G", "0:1", "0:1G:0->1", {100, 0}, true},
                /* The demand is what it was, so it stays where it is, though it would be spread. */
                {"Pages=100", "0:100", "-", {100, 0}, false},
                {"Pages=999999", "-", "-", {100, 0}, true},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Plan *plan = plan_running(arena, hundred, cases[i].lines,
                                                "hold a.service a 2M=0:100\nunit a.service\n");
                const PlanInstance *a = plan_find(plan, "a");

                assert_grants(plan, "a", cases[i].grants);
                assert_steps(plan, cases[i].steps);
                assert_non_null(a->hold);
                assert_int_equal(plan_waits_for_restart(a, a->hold), cases[i].is_waiting);
                assert_int_equal(plan->left_holds.n, 0);
                for (unsigned node = 0; node < 2; node++)
                        assert_int_equal(plan_pool(plan, node, 2 * MIB)->granted_pages,
                                         cases[i].granted[node]);
        }
}

/* Whoever is described no longer, or by another unit, keeps his pages until he stops. */
TEST(left_holds) {
        static const struct {
                const char *lines, *running, *steps;
                size_t n_left;
        } cases[] = {
                {"Engine=redis", "hold old.service old 2M=0:100\nunit old.service\n", "-", 1},
                {"Engine=redis", "hold old.service old 2M=0:30\nunit old.service\n", "0:2M:100->30",
                 1},
                {"Engine=redis", "hold old.service old 2M=0:30\n", "0:2M:100->0", 0},
                /* The instance is described, and was of another unit then. */
                {"Pages=80\nNodes=0", "hold old.service a 2M=0:100\nunit old.service\n",
                 "0:2M:100->180", 1},
                /* Of its own unit: the file was given another name. */
                {"Pages=80\nNodes=0", "hold a.service old 2M=0:100\nunit a.service\n", "-", 0},
                {"Pages=80\nNodes=0",
                 "hold a.service old 2M=0:60\nhold a.service a 2M=0:40\nunit a.service\n",
                 "0:2M:100->140", 1},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Plan *plan = plan_running(arena, hundred, cases[i].lines, cases[i].running);

                assert_steps(plan, cases[i].steps);
                assert_int_equal(plan->left_holds.n, cases[i].n_left);
        }
}

/* As if all of them were stopped. */
TEST(restarted) {
        const Config *config = config_line(arena, "a Pages=20 Unit=a.service");
        const Running running = running_make(arena, "hold a.service a 2M=0:100\nunit a.service\n"
                                                    "hold old.service old 1G=0:1\n"
                                                    "unit old.service\n");
        const Topology *host = host_make(arena, hundred);
        Ledger *ledger = ledger_with_pool(arena, 0, 0, 100);

        ledger->holds = running.holds;
        ledger_observe(arena, ledger, host, &running.use);
        const PlanInput input = {
                .host = &config->host,
                .demand = demand_compute(arena, config, host, NULL),
                .topology = host,
                .ledger = ledger,
                .use = &running.use,
                .is_restarted = true,
        };
        const Plan *plan = plan_make(arena, &input);

        assert_grants(plan, "a", "0:10 1:10");
        assert_null(plan_find(plan, "a")->hold);
        assert_int_equal(plan->left_holds.n, 0);
        assert_int_equal(plan_pool(plan, 0, 2 * MIB)->granted_pages, 10);
        assert_int_equal(plan_pool(plan, 0, GIB)->granted_pages, 0);
}

/* What others have taken from the pool meanwhile is put back as far as there is memory, and no
 * further. */
TEST(hold_beyond_memory) {
        static const char host[] = "sizes 2M\n"
                                   "node 0 total=20G free=2068M 2M=50\n" /* room for 10 */
                                   "node 1 total=20G free=2048M\n";
        const Plan *plan = plan_running(arena, host, "Pages=100\nNodes=0",
                                        "hold a.service a 2M=0:100\nunit a.service\n");

        assert_steps(plan, "0:2M:50->60");
        assert_grants(plan, "a", "-");
        assert_short(plan, "a", REASON_NOT_ENOUGH_MEMORY, "node 0 can give 60");
        plan = plan_running(arena, host, "Pages=60\nNodes=0",
                            "hold a.service a 2M=0:60\nunit a.service\n");
        assert_steps(plan, "0:2M:50->60");
        assert_grants(plan, "a", "0:60");
        /* Surplus pages in use are there already. */
        plan = plan_running(arena, "sizes 2M\nnode 0 total=20G free=2048M 2M=100/0/60\n",
                            "Pages=100\nNodes=0",
                            "hold a.service a 2M=0:100 counted\nunit a.service 2M=100/0:100\n");
        assert_steps(plan, "0:2M:40->100");
        assert_grants(plan, "a", "0:100");
}

/* Nobody let it start: hugeplan is new here, or its ledger was lost. Pages in use are its own, as
 * many as its instance wants, wherever they are: it may have been started without its drop-in. */
TEST(assumed_running) {
        static const char host[] = "sizes 2M\n"
                                   "node 0 total=20G free=4048M 2M=100/40\n"
                                   "node 1 total=20G free=4048M\n";
        static const struct {
                const char *lines, *running;
                uint64_t others;
                bool is_running;
        } cases[] = {
                {"Pages=80\nNodes=0", "", 60, false},
                {"Pages=80\nNodes=0", "unit b.service\n", 60, false},
                {"Pages=80\nNodes=0", "unit a.service\n", 0, true},
                {"Pages=25\nNodes=0", "unit a.service\n", 35, true},
                {"Pages=80\nNodes=1\nPlacement=bind", "unit a.service\n", 0, true},
                {"Pages=80\nNodes=1", "unit a.service\n", 0, true},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Plan *plan = plan_running(arena, host, cases[i].lines, cases[i].running);
                const Running running = running_make(arena, cases[i].running);
                const Ledger *ledger = ledger_new(arena, "boot");
                const PlanInput input = {.ledger = ledger, .use = &running.use};

                assert_int_equal(plan_pool(plan, 0, 2 * MIB)->others_pages, cases[i].others);
                assert_null(plan_find(plan, "a")->hold);
                assert_int_equal(is_running(arena, &input, plan, "a"), cases[i].is_running);
        }
}

/* It has its pages for as long as a reload may be taken back; no unit runs. */
TEST(tentative_hold) {
        const Plan *plan = plan_running(arena, hundred, "Pages=100\nNodes=1",
                                        "hold kept a 2M=0:100 tentative\n");
        const PlanInstance *a = plan_find(plan, "a");
        const PlanInput input = {.ledger = ledger_new(arena, "boot")};

        assert_grants(plan, "a", "1:100");
        assert_steps(plan, "1:2M:0->100");
        assert_true(a->hold && a->hold->is_tentative);
        assert_false(is_running(arena, &input, plan, "a"));
}

/* ---- cover ---- */

/* b.service is bound to node 1, and has 30 pages there that it has not touched yet; c.service takes
 * 40 more wherever it likes. FREE is what node 1 has of memory. */
static Plan *plan_cover(Arena *arena, const char *free, const char *reserved, const char *running) {
        const Config *config = config_line(
                arena, "b Pages=30 Nodes=1 Placement=bind Unit=b.service; c Pages=40 Nodes=0 "
                       "Unit=c.service");
        const Topology *host = host_printf(arena,
                                           "sizes 2M\n"
                                           "node 0 total=20G free=4G 2M=40\n"
                                           "node 1 total=20G free=%s 2M=30\n"
                                           "reserved 2M=%s\n",
                                           free, reserved);
        const Running who = running_make(arena, running);

        return plan_beside(arena, config, host, NULL, &who);
}

/* Who does not run yet is to find its pages as well, or it is said that it will not start. */
TEST(cover_starter) {
        static const char running[] = "hold c.service c 2M=0:40 counted\nunit c.service 2M=40\n";
        const Plan *plan = plan_cover(arena, "4G", "40", running);

        assert_steps(plan, "1:2M:30->70");
        assert_int_equal(plan_reason(plan_find(plan, "b"))->kind, REASON_NONE);
        plan = plan_cover(arena, "2098M", "40", running);
        const PlanInstance *b = plan_find(plan, "b");

        assert_steps(plan, "1:2M:30->55");
        assert_grants(plan, "b", "1:30");
        assert_int_equal(b->reason.kind, REASON_NONE);
        assert_ptr_equal(plan_reason(b), &b->exposed);
        assert_int_equal(b->exposed.kind, REASON_TAKEN);
        assert_contains(
                b->exposed.text,
                "15 of its 30 pages of 2M (60M) are not for it alone: node 1 has 55 free, of "
                "which c.service may take 40");
        assert_contains(b->exposed.remedy, "restart c.service");
        assert_int_equal(plan_find(plan, "c")->exposed.kind, REASON_NONE);
}

/* A start that is under way is judged by its policy, not by the plan. */
TEST(starting) {
        const Config *config = config_line(
                arena, "b Pages=30 Nodes=1 Placement=bind Unit=b.service; c Pages=40 Nodes=0 "
                       "Unit=c.service");
        const Topology *host = host_make(arena, "sizes 2M\n"
                                                "node 0 total=20G free=4G 2M=40\n"
                                                "node 1 total=20G free=4G 2M=30\n"
                                                "reserved 2M=30\n");
        const Running running = running_make(arena, "hold b.service b 2M=1:30 bind=1 counted\n"
                                                    "unit b.service 2M=30\nunit c.service\n");
        PlanStartings starting = {};
        Ledger *ledger = ledger_new(arena, "boot");

        *vec_push((Arena *) arena, &starting) =
                (PlanStarting){"c", "c.service", "", {.kind = MEMORY_POLICY_ANY}};
        ledger->holds = running.holds;
        ledger_observe(arena, ledger, host, &running.use);
        PlanInput input = {
                .host = &config->host,
                .demand = demand_compute(arena, config, host, NULL),
                .topology = host,
                .ledger = ledger,
                .use = &running.use,
                .starting = &starting,
        };
        const Plan *plan = plan_make(arena, &input);
        const Starter starter =
                plan_starter(&input, plan_promises(arena, &input), plan_find(plan, "c"));

        assert_true(starter.is_now);
        assert_int_equal(starter.pages, 40);
        assert_false(is_running(arena, &input, plan, "c"));
        assert_false(
                plan_starter(&input, plan_promises(arena, &input), plan_find(plan, "b")).is_now);
        /* It may take them from node 1 as well: there are as many more. */
        assert_steps(plan, "1:2M:30->70");
        /* Bound to node 0 it does not. */
        starting.items[0].policy.kind = MEMORY_POLICY_BIND;
        id_set_add(&starting.items[0].policy.nodes, 0);
        assert_steps(plan_make(arena, &input), "-");
}

/* What its mount keeps in files is its own already. */
TEST(starter_with_mount) {
        const Config *config = config_line(arena, "a Pages=40 Unit=a.service");
        const Topology *host = host_make(arena, "sizes 2M\nnode 0 total=20G free=4G 2M=40/25\n"
                                                "reserved 2M=10\n");
        static const struct {
                const char *mount;
                uint64_t pages;
                bool has_mount;
        } cases[] = {
                {"", 40, false},
                {"mount b 2M=30/10\n", 40, false},
                {"mount a 1G=1/0\n", 40, false},
                {"mount a 2M=0/0\n", 40, true},
                /* Of a unit that runs nothing of the mount is another's. */
                {"hold a.service a 2M=0:40 counted\nunit a.service 2M=40/0:15\nmount a 2M=0/15\n",
                 40, true},
                {"mount a 2M=0/15\n", 25, true},
                /* What is earmarked and not reserved must be in use. */
                {"mount a 2M=25/0\n", 25, true},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Running running = running_make(arena, cases[i].mount);
                const PlanInput input = {
                        .host = &config->host,
                        .demand = demand_compute(arena, config, host, NULL),
                        .topology = host,
                        .ledger = ledger_of_idle(arena, host),
                        .use = &running.use,
                };
                const Plan *plan = plan_simple(arena, config, host);
                const Starter starter =
                        plan_starter(&input, plan_promises(arena, &input), plan_find(plan, "a"));

                assert_int_equal(starter.pages, cases[i].pages);
                assert_int_equal(starter.has_mount, cases[i].has_mount);
        }
}

/* ---- what trying has shown ---- */

TEST(limits) {
        const Config *config =
                config_line(arena, "a Pages=600 Nodes=0; b Pages=300 Nodes=0 Priority=10");
        PoolLimits limits = {};

        *vec_push((Arena *) arena, &limits) =
                (PoolLimit){.node = 0,
                            .page_size_bytes = 2 * MIB,
                            .persistent_pages = 400,
                            .reason = {REASON_FRAGMENTED, "in small pieces", "reboot"}};
        const Plan *plan = plan_with(arena, config, host_make(arena, even), NULL, &limits);

        assert_grants(plan, "a", "-");
        assert_short(plan, "a", REASON_FRAGMENTED, "in small pieces");
        assert_grants(plan, "b", "0:300"); /* what a cannot use whole */
        /* A limit of another page size or node is none. */
        limits.items[0].page_size_bytes = GIB;
        plan = plan_with(arena, config, host_make(arena, even), NULL, &limits);
        assert_grants(plan, "a", "0:600");
        limits.items[0].page_size_bytes = 2 * MIB;
        limits.items[0].node = 1;
        plan = plan_with(arena, config, host_make(arena, even), NULL, &limits);
        assert_grants(plan, "a", "0:600");
}

/* ---- the rest ---- */

TEST(nothing_asked) {
        const Plan *plan = plan_simple(arena, config_make(arena, NULL), host_make(arena, even));

        assert_int_equal(plan->n_instances, 0);
        assert_steps(plan, "-");
        assert_null(plan_find(plan, "a"));
        plan = plan_one(arena, even, "Engine=redis");
        assert_grants(plan, "a", "-");
        assert_int_equal(reason_of(plan, "a")->kind, REASON_NONE);
}

TEST(absurd_demand) {
        const Plan *plan = plan_one(arena, even, "Pages=18446744073709551615");

        assert_grants(plan, "a", "-");
        assert_steps(plan, "-");
        assert_int_equal(reason_of(plan, "a")->kind, REASON_NOT_ENOUGH_MEMORY);
        plan = plan_one(arena, even, "NodeMemory=0:15E 1:15E\nShortage=degrade");
        assert_grants(plan, "a", "0:1000 1:1000");
}

/* The remedy names only what can help, the reason who goes before. */
TEST(shortage_names_earlier_claims) {
        const Config *config = config_line(
                arena, "10-a Pages=2000 Priority=60; 20-b Pages=9999; 30-c Pages=9999 Nodes=1");
        const Plan *plan = plan_simple(arena, config,
                                       host_make(arena, "sizes 2M\nnode 0 total=8G free=8G\n"
                                                        "node 1 total=8G free=8G\n"));
        const Reason *b = &plan_find(plan, "b")->reason, *c = &plan_find(plan, "c")->reason;

        assert_contains(b->text, "3.9G for a (/etc/hugeplan.d/10-a.conf)");
        assert_contains(c->text, "2G for a (/etc/hugeplan.d/10-a.conf)");
        assert_null(strstr(b->remedy, "allow more nodes"));
        assert_contains(b->remedy, "raise its Priority=, or add memory");
        assert_contains(c->remedy, "allow more nodes, raise its Priority=, or add memory");
}

TEST(room) {
        const Topology *topology =
                host_make(arena, "sizes 2M\nnode 0 total=10G free=2G cache=1G\nnode 1\n");
        const Config *config = config_make(arena, NULL);
        HostConfig host = config->host;

        assert_true(plan_node_room_bytes(&host, &topology->nodes[0]) == 2 * GIB);
        host.may_reclaim = false;
        assert_true(plan_node_room_bytes(&host, &topology->nodes[0]) == GIB);
        host.keep_free = (Amount){.bytes = 3 * GIB};
        assert_true(plan_node_room_bytes(&host, &topology->nodes[0]) == 0);
        assert_true(plan_node_room_bytes(&host, &topology->nodes[1]) == 0);
}
