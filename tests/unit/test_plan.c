/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The planner, rule by rule. What must hold on any host is in property/test_plan_properties.c. */

#include "base/size.h"
#include "support/testing.h"

/* Two nodes with 1000 pages of room each: 10% of 20G are kept, 2000 M beyond that are free. */
static const char even[] = "sizes 1G 2M\n"
                           "node 0 total=20G free=4048M\n"
                           "node 1 total=20G free=4048M\n";

static Plan *plan_one(Arena *arena, const char *host, const char *lines) {
        const Config *config =
                config_make(arena, "a.conf", arena_printf(arena, "[Instance]\n%s\n", lines), NULL);

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

static void test_spread(void **state) {
        const Plan *plan = plan_one(*state, even, "Pages=100");

        assert_text(grants_text(*state, plan, "a"), "0:50 1:50");
        assert_text(steps_text(*state, plan), "0:2M:0->50 1:2M:0->50");
        assert_int_equal(plan_count_changed(plan), 2);
        assert_int_equal(reason_of(plan, "a")->kind, REASON_NONE);
        /* The odd page goes to the lowest number. */
        assert_text(grants_text(*state, plan_one(*state, even, "Pages=101"), "a"), "0:51 1:50");
        assert_text(grants_text(*state, plan_one(*state, even, "Pages=1"), "a"), "0:1");
}

/* What a node cannot take goes to the others in equal parts. */
static void test_spread_uneven(void **state) {
        static const char host[] = "sizes 2M\n"
                                   "node 0 total=1G free=164M\n" /* 50 pages beyond 10% */
                                   "node 1 total=20G free=4048M\n"
                                   "node 2 total=20G free=4048M\n";

        assert_text(grants_text(*state, plan_one(*state, host, "Pages=150"), "a"),
                    "0:30 1:60 2:60");
        assert_text(grants_text(*state, plan_one(*state, host, "Pages=30"), "a"), "0:10 1:10 2:10");
}

static void test_spread_named_nodes(void **state) {
        assert_text(grants_text(*state, plan_one(*state, even, "Pages=100\nNodes=1"), "a"),
                    "1:100");
}

static void test_pack(void **state) {
        static const char host[] = "sizes 2M\n"
                                   "node 0 total=20G free=4048M\n"  /* 1000 */
                                   "node 1 total=20G free=2448M\n"  /* 200 */
                                   "node 2 total=20G free=3048M\n"; /* 500 */

        /* The smallest node that takes all of it. */
        assert_text(grants_text(*state, plan_one(*state, host, "Pages=100\nPlacement=pack"), "a"),
                    "1:100");
        assert_text(grants_text(*state, plan_one(*state, host, "Pages=201\nPlacement=pack"), "a"),
                    "2:201");
        assert_text(grants_text(*state, plan_one(*state, host, "Pages=501\nPlacement=pack"), "a"),
                    "0:501");
        /* None does: the largest first, then the smallest that takes the rest. */
        assert_text(grants_text(*state, plan_one(*state, host, "Pages=1150\nPlacement=pack"), "a"),
                    "0:1000 1:150");
        assert_text(grants_text(*state, plan_one(*state, host, "Pages=1600\nPlacement=pack"), "a"),
                    "0:1000 1:100 2:500");
        /* Ties go to the lowest number. */
        assert_text(grants_text(*state, plan_one(*state, even, "Pages=10\nPlacement=pack"), "a"),
                    "0:10");
}

static void test_bind(void **state) {
        assert_text(grants_text(*state, plan_one(*state, even, "Pages=10\nPlacement=bind\nNodes=1"),
                                "a"),
                    "1:10");
        const Plan *plan = plan_one(*state, even, "Pages=1001\nPlacement=bind\nNodes=1");

        assert_text(grants_text(*state, plan, "a"), "-");
        assert_short(plan, "a", REASON_NOT_ENOUGH_MEMORY, "node 1 can give 1,000 (2G)");
}

static void test_split(void **state) {
        assert_text(grants_text(*state, plan_one(*state, even, "NodeMemory=0:400M 1:20M"), "a"),
                    "0:200 1:10");
        const Plan *plan = plan_one(*state, even, "NodeMemory=0:20M 1:2002M");

        assert_text(grants_text(*state, plan, "a"), "-");
        assert_short(plan, "a", REASON_NOT_ENOUGH_MEMORY,
                     "on node 1 do not fit: it can give 1,000 beyond KeepFree=10%");
        assert_text(steps_text(*state, plan), "-");
}

/* ---- capacity ---- */

static void test_limit_is_exact(void **state) {
        assert_text(grants_text(*state, plan_one(*state, even, "Pages=2000"), "a"),
                    "0:1000 1:1000");
        const Plan *plan = plan_one(*state, even, "Pages=2001");

        assert_text(grants_text(*state, plan, "a"), "-");
        assert_text(steps_text(*state, plan), "-");
        assert_short(plan, "a", REASON_NOT_ENOUGH_MEMORY, "can give 2,000 (3.9G)");
}

static void test_keep_free(void **state) {
        const Config *config = config_make(*state, "00.conf", "[Host]\nKeepFree=4028M\n", "a.conf",
                                           "[Instance]\nPages=20\n", "b.conf",
                                           "[Instance]\nPages=1\n", NULL);
        const Plan *plan = plan_simple(*state, config, host_make(*state, even));

        assert_text(grants_text(*state, plan, "a"), "0:10 1:10");
        assert_text(grants_text(*state, plan, "b"), "-");
        assert_true(plan->keep_free_bytes == 2 * 4028 * MIB);
}

/* However small the share is on a small node, 64M stay. */
static void test_floor(void **state) {
        static const char host[] = "sizes 2M\nnode 0 total=128M free=100M\n";

        assert_text(grants_text(*state, plan_one(*state, host, "Pages=18"), "a"), "0:18");
        assert_text(grants_text(*state, plan_one(*state, host, "Pages=19"), "a"), "-");
}

static void test_page_cache(void **state) {
        static const char host[] = "sizes 2M\nnode 0 total=10G free=1034M cache=100M\n";
        const Config *without = config_make(*state, "00.conf", "[Host]\nReclaim=no\n", "a.conf",
                                            "[Instance]\nPages=6\n", NULL);

        /* 10 M are free beyond KeepFree=, 100 M can be had from the page cache. */
        assert_text(grants_text(*state, plan_one(*state, host, "Pages=55"), "a"), "0:55");
        assert_text(grants_text(*state, plan_one(*state, host, "Pages=56"), "a"), "-");
        assert_text(grants_text(*state, plan_simple(*state, without, host_make(*state, host)), "a"),
                    "-");
}

static void test_memoryless_node(void **state) {
        static const char host[] = "sizes 2M\nnode 0 total=20G free=4048M\nnode 1\n";

        assert_text(grants_text(*state, plan_one(*state, host, "Pages=10"), "a"), "0:10");
}

static void test_node_without_pool_directory(void **state) {
        static const char host[] = "sizes 1G 2M\nnode 0 total=20G free=4048M\n"
                                   "node 1 total=20G free=4048M 2M=-\n";

        assert_text(grants_text(*state, plan_one(*state, host, "Pages=10"), "a"), "0:10");
}

/* Two page sizes share one node's memory. */
static void test_sizes_share_memory(void **state) {
        const Config *config = config_make(
                *state, "a.conf", "[Instance]\nPages=2\nPageSize=1G\nNodes=0\n", "b.conf",
                "[Instance]\nPages=1\nNodes=0\n", "c.conf", "[Instance]\nPages=1\nNodes=1\n", NULL);
        const Plan *plan = plan_simple(*state, config,
                                       host_make(*state, "sizes 1G 2M\n"
                                                         "node 0 total=20G free=4096M\n"
                                                         "node 1 total=20G free=4096M\n"));

        assert_text(grants_text(*state, plan, "a"), "0:2");
        assert_text(grants_text(*state, plan, "b"), "-");
        assert_text(grants_text(*state, plan, "c"), "1:1");
        assert_text(steps_text(*state, plan), "0:1G:0->2 1:2M:0->1"); /* largest pages first */
}

static void test_page_size_preference(void **state) {
        /* 2048M beyond KeepFree=: two pages of 1G, or 1024 of 2M. */
        static const char host[] = "sizes 1G 2M\nnode 0 total=20G free=4096M\n";

        const Plan *plan = plan_one(*state, host, "Memory=2G\nPageSize=1G,2M");

        assert_true(plan_find(plan, "a")->page_size_bytes == GIB);
        assert_text(grants_text(*state, plan, "a"), "0:2");
        plan = plan_one(*state, "sizes 1G 2M\nnode 0 total=20G free=4095M\n",
                        "Memory=1030M\nPageSize=1G,2M");
        assert_true(plan_find(plan, "a")->page_size_bytes == 2 * MIB);
        assert_text(grants_text(*state, plan, "a"), "0:515");
        /* Neither fits: the first choice is what it is told about. */
        plan = plan_one(*state, host, "Memory=4G\nPageSize=1G,2M");
        assert_short(plan, "a", REASON_NOT_ENOUGH_MEMORY, "4 pages of 1G");
}

/* ---- who is served ---- */

static void test_priority(void **state) {
        const Config *config = config_make(*state, "a.conf", "[Instance]\nPages=1500\n", "b.conf",
                                           "[Instance]\nPages=1500\nPriority=60\n", "c.conf",
                                           "[Instance]\nPages=500\nPriority=0\n", NULL);
        const Plan *plan = plan_simple(*state, config, host_make(*state, even));

        assert_text(grants_text(*state, plan, "b"), "0:750 1:750");
        assert_text(grants_text(*state, plan, "a"), "-"); /* what it cannot use whole ... */
        assert_text(grants_text(*state, plan, "c"), "0:250 1:250"); /* ... goes to the next */
        assert_short(plan, "a", REASON_NOT_ENOUGH_MEMORY, "1,500 pages of 2M");
}

static void test_priority_ties(void **state) {
        const Config *config = config_make(*state, "z.conf", "[Instance]\nPages=1500\nName=a\n",
                                           "b.conf", "[Instance]\nPages=1500\n", NULL);
        const Plan *plan = plan_simple(*state, config, host_make(*state, even));

        assert_text(grants_text(*state, plan, "a"), "0:750 1:750"); /* by name, not by file */
        assert_text(grants_text(*state, plan, "b"), "-");
}

static void test_degrade(void **state) {
        const Config *config = config_make(
                *state, "a.conf", "[Instance]\nPages=2500\nShortage=degrade\nPriority=90\n",
                "b.conf", "[Instance]\nPages=1500\n", NULL);
        const Plan *plan = plan_simple(*state, config, host_make(*state, even));

        /* A part, and only what nobody else could use whole. */
        assert_text(grants_text(*state, plan, "b"), "0:750 1:750");
        assert_text(grants_text(*state, plan, "a"), "0:250 1:250");
        assert_true(plan_find(plan, "a")->pages_wanted == 2500);
        assert_true(plan_find(plan, "a")->pages_granted == 500);
        assert_int_equal(reason_of(plan, "a")->kind, REASON_NOT_ENOUGH_MEMORY);
}

static void test_degrade_split(void **state) {
        const Plan *plan = plan_one(*state, even, "NodeMemory=0:4G 1:20M\nShortage=degrade\n");

        assert_text(grants_text(*state, plan, "a"), "0:1000 1:10");
        assert_int_equal(reason_of(plan, "a")->kind, REASON_NOT_ENOUGH_MEMORY);
}

static void test_degrade_pack(void **state) {
        static const char host[] = "sizes 2M\n"
                                   "node 0 total=20G free=2068M\n"  /* 10 */
                                   "node 1 total=20G free=2448M\n"  /* 200 */
                                   "node 2 total=20G free=2248M\n"; /* 100 */
        const Plan *plan = plan_one(*state, host, "Pages=5000\nShortage=degrade\nPlacement=pack\n");

        assert_text(grants_text(*state, plan, "a"), "0:10 1:200 2:100");
}

/* An instance that makes no sense here takes nothing, and nobody else's. */
static void test_reason_of_demand(void **state) {
        const Config *config = config_make(*state, "a.conf",
                                           "[Instance]\nPages=10\nNodes=9\nPriority=99\n", "b.conf",
                                           "[Instance]\nPages=10\n", NULL);
        const Plan *plan = plan_simple(*state, config, host_make(*state, even));

        assert_short(plan, "a", REASON_NODE_ABSENT, "node 9 does not exist");
        assert_text(grants_text(*state, plan, "a"), "-");
        assert_text(grants_text(*state, plan, "b"), "0:5 1:5");
}

/* ---- pools that are not empty ---- */

static const char found_pages[] = "sizes 2M\n"
                                  "node 0 total=20G free=4048M 2M=100\n"
                                  "node 1 total=20G free=4048M 2M=0\n";

static void test_existing_pages_count(void **state) {
        const Plan *plan = plan_one(*state, found_pages, "Pages=80\nNodes=0");

        assert_text(steps_text(*state, plan), "-");
        assert_text(grants_text(*state, plan, "a"), "0:80");
        assert_true(plan_pool(plan, 0, 2 * MIB)->found_pages == 100);
        plan = plan_one(*state, found_pages, "Pages=150\nNodes=0");
        assert_text(steps_text(*state, plan), "0:2M:100->150");
        /* The room counts on top of the pages that are there. */
        assert_text(steps_text(*state, plan_one(*state, found_pages, "Pages=1100\nNodes=0")),
                    "0:2M:100->1100");
        assert_text(grants_text(*state, plan_one(*state, found_pages, "Pages=1101\nNodes=0"), "a"),
                    "-");
}

static void test_existing_pages_kept(void **state) {
        const Config *config = config_make(*state, "00.conf", "[Host]\nExistingPages=keep\n",
                                           "a.conf", "[Instance]\nPages=80\nNodes=0\n", NULL);
        const Plan *plan = plan_simple(*state, config, host_make(*state, found_pages));

        assert_text(steps_text(*state, plan), "0:2M:100->180");
        assert_text(grants_text(*state, plan, "a"), "0:80");
}

static Ledger *ledger_with_pool(Arena *arena, unsigned node, uint64_t found, uint64_t set,
                                uint64_t foreign) {
        Ledger *ledger = ledger_new(arena, "boot");

        *vec_push(arena, &ledger->pools) = (LedgerPool){node, 2 * MIB, .found_pages = found,
                                                        .set_pages = set, .foreign_pages = foreign};
        return ledger;
}

/* Pages beyond those found are ours to give back, but none that are in use or promised. */
static void test_shrink(void **state) {
        const Config *config = config_make(*state, NULL);

        assert_text(steps_text(*state, plan_with(*state, config,
                                                 host_make(*state, "sizes 2M\n"
                                                                   "node 0 total=20G free=4G "
                                                                   "2M=100\n"),
                                                 ledger_with_pool(*state, 0, 20, 100, 0), NULL)),
                    "0:2M:100->20");
        /* 40 in use. */
        assert_text(steps_text(*state, plan_with(*state, config,
                                                 host_make(*state, "sizes 2M\n"
                                                                   "node 0 total=20G free=4G "
                                                                   "2M=100/60\n"),
                                                 ledger_with_pool(*state, 0, 20, 100, 0), NULL)),
                    "0:2M:100->40");
        /* 40 in use and 10 promised. */
        assert_text(steps_text(*state, plan_with(*state, config,
                                                 host_make(*state, "sizes 2M\n"
                                                                   "node 0 total=20G free=4G "
                                                                   "2M=100/60\n"
                                                                   "promised 2M=10\n"),
                                                 ledger_with_pool(*state, 0, 20, 100, 0), NULL)),
                    "0:2M:100->50");
        /* More in use than is persistent: nothing is to be done, and nothing is raised. */
        assert_text(steps_text(*state, plan_with(*state, config,
                                                 host_make(*state, "sizes 2M\n"
                                                                   "node 0 total=20G free=4G "
                                                                   "2M=100/0/10\n"),
                                                 ledger_with_pool(*state, 0, 20, 90, 0), NULL)),
                    "-");
}

/* Never what was read: surplus pages are no persistent ones. */
static void test_surplus_is_not_persistent(void **state) {
        const Plan *plan =
                plan_one(*state, "sizes 2M\nnode 0 total=20G free=4048M 2M=30/0/20\n", "Pages=30");

        assert_true(plan_pool(plan, 0, 2 * MIB)->from_pages == 10);
        assert_text(steps_text(*state, plan), "0:2M:10->30");
}

static void test_foreign_pages(void **state) {
        const Config *config = config_make(*state, "a.conf", "[Instance]\nPages=80\n", NULL);
        const Plan *plan =
                plan_with(*state, config,
                          host_make(*state, "sizes 2M\nnode 0 total=20G free=4048M 2M=100/50\n"),
                          ledger_with_pool(*state, 0, 100, 100, 50), NULL);

        assert_text(steps_text(*state, plan), "0:2M:100->130");
        assert_text(grants_text(*state, plan, "a"), "0:80");
}

/* They are made up for where an instance needs the pool, and nowhere else. */
static void test_foreign_pages_alone(void **state) {
        const Config *config =
                config_make(*state, "a.conf", "[Instance]\nPages=8\nNodes=1\n", NULL);
        const Plan *plan = plan_with(*state, config,
                                     host_make(*state, "sizes 2M\n"
                                                       "node 0 total=20G free=4G 2M=20/0/15\n"
                                                       "node 1 total=20G free=4G\n"),
                                     ledger_with_pool(*state, 0, 5, 5, 20), NULL);

        assert_text(steps_text(*state, plan), "1:2M:0->8");
}

/* Short by what others hold: that is the reason, not the host's memory. */
static void test_taken(void **state) {
        const Config *config = config_make(*state, "a.conf", "[Instance]\nPages=300\n", NULL);
        const Plan *plan =
                plan_with(*state, config,
                          host_make(*state, "sizes 2M\nnode 0 total=2G free=300M 2M=300/100\n"),
                          ledger_with_pool(*state, 0, 0, 300, 200), NULL);

        assert_int_equal(plan_find(plan, "a")->reason.kind, REASON_TAKEN);
        assert_non_null(strstr(plan_find(plan, "a")->reason.text, "others hold 200 pages of 2M"));
}

/* A pool that others have lowered below what was found is not raised for its own sake. */
static void test_lowered_by_others(void **state) {
        const Config *config = config_make(*state, "a.conf", "[Instance]\nPages=10\n", NULL);
        const Plan *plan = plan_with(
                *state, config, host_make(*state, "sizes 2M\nnode 0 total=20G free=4G 2M=30\n"),
                ledger_with_pool(*state, 0, 100, 100, 0), NULL);

        assert_text(steps_text(*state, plan), "-");
        assert_text(grants_text(*state, plan, "a"), "0:10");
}

/* ---- the ledger ---- */

static void add_ledger_instance(Arena *arena, Ledger *ledger, const char *name, uint64_t wanted,
                                bool is_held, unsigned node, uint64_t pages) {
        LedgerInstance *instance = vec_push(arena, &ledger->instances);

        *instance = (LedgerInstance){.name = name,
                                     .page_size_bytes = 2 * MIB,
                                     .pages_wanted = wanted,
                                     .is_held = is_held};
        *vec_push(arena, &instance->grants) = (LedgerGrant){node, pages};
}

/* An unchanged instance never moves, though it would be spread today. */
static void test_stays_where_it_is(void **state) {
        const Config *config = config_make(*state, "a.conf", "[Instance]\nPages=100\n", NULL);
        Ledger *ledger = ledger_with_pool(*state, 0, 0, 100, 0);

        add_ledger_instance(*state, ledger, "a", 100, false, 0, 100);
        const Plan *plan = plan_with(*state, config,
                                     host_make(*state, "sizes 2M\n"
                                                       "node 0 total=20G free=4G 2M=100\n"
                                                       "node 1 total=20G free=4G\n"),
                                     ledger, NULL);

        assert_text(grants_text(*state, plan, "a"), "0:100");
        assert_text(steps_text(*state, plan), "-");
}

/* Another demand, another placement or other nodes: it is placed anew. */
static void test_moves_when_changed(void **state) {
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
                Ledger *ledger = ledger_with_pool(*state, 0, 0, 100, 0);
                const Config *config =
                        config_make(*state, "a.conf",
                                    arena_printf(*state, "[Instance]\n%s\n", cases[i].lines), NULL);

                add_ledger_instance(*state, ledger, "a", 100, false, 0, 100);
                const Plan *plan = plan_with(*state, config, host_make(*state, host), ledger, NULL);

                assert_text(grants_text(*state, plan, "a"), cases[i].grants);
                assert_text(steps_text(*state, plan), cases[i].steps);
        }
}

/* Who holds its pages keeps them, whatever priority comes later. */
static void test_held_first(void **state) {
        const Config *config = config_make(*state, "a.conf", "[Instance]\nPages=1500\nPriority=1\n",
                                           "b.conf", "[Instance]\nPages=1500\nPriority=99\n", NULL);
        Ledger *ledger = ledger_new(*state, "boot");

        add_ledger_instance(*state, ledger, "a", 1500, true, 0, 1500);
        const Plan *plan = plan_with(*state, config, host_make(*state, even), ledger, NULL);

        assert_text(grants_text(*state, plan, "b"), "-");
        assert_true(plan_find(plan, "a")->pages_granted == 1500);
        ledger->instances.items[0].is_held = false;
        plan = plan_with(*state, config, host_make(*state, even), ledger, NULL);
        assert_text(grants_text(*state, plan, "a"), "-");
        assert_true(plan_find(plan, "b")->pages_granted == 1500);
}

/* On a host with room for 2000 pages "part" wants 3000 and has had 600 of them: what another
 * instance, with LINES, gets beside it. */
static const Plan *plan_beside_part(Arena *arena, bool is_held, const char *lines) {
        const Config *config = config_make(
                arena, "new.conf", arena_printf(arena, "[Instance]\n%s\n", lines), "part.conf",
                "[Instance]\nPages=3000\nShortage=degrade\nPriority=50\n", NULL);
        Ledger *ledger = ledger_new(arena, "boot");

        add_ledger_instance(arena, ledger, "part", 3000, is_held, 0, 600);
        return plan_with(arena, config, host_make(arena, even), ledger, NULL);
}

/* What could be reserved stays reserved: newcomers that are no more important do not get it. */
static void test_part_stays(void **state) {
        static const char *const newcomers[] = {
                "Pages=500\nNodes=0\nPriority=50", /* "new" comes first by name */
                "Pages=500\nNodes=0\nPriority=1",
                "Pages=500\nNodes=0\nPriority=50\nShortage=degrade",
        };

        for (size_t i = 0; i < ARRAY_LEN(newcomers); i++) {
                const Plan *plan = plan_beside_part(*state, false, newcomers[i]);
                const PlanInstance *part = plan_find(plan, "part");

                assert_true(part->n_grants > 0 && part->grants[0].node == 0);
                assert_true(part->grants[0].pages >= 600);
                assert_true(plan_find(plan, "new")->pages_granted <= 400);
                assert_int_equal(part->reason.kind, REASON_NOT_ENOUGH_MEMORY);
        }
}

/* What is left beside the part is the newcomer's, if it can use it whole. */
static void test_beside_part(void **state) {
        const Plan *plan = plan_beside_part(*state, false, "Pages=400\nNodes=0\nPriority=1");

        assert_text(grants_text(*state, plan, "new"), "0:400");
        assert_text(grants_text(*state, plan, "part"), "0:600 1:1000");
}

/* The more important one takes what nobody uses yet, but not what may be in use. */
static void test_part_and_priority(void **state) {
        const Plan *plan = plan_beside_part(*state, false, "Pages=500\nNodes=0\nPriority=51");

        assert_text(grants_text(*state, plan, "new"), "0:500");
        assert_text(grants_text(*state, plan, "part"), "0:500 1:1000");
        plan = plan_beside_part(*state, true, "Pages=500\nNodes=0\nPriority=51");
        assert_text(grants_text(*state, plan, "new"), "-");
        assert_text(grants_text(*state, plan, "part"), "0:1000 1:1000");
}

/* Whole as soon as it can be, and then without a reason. */
static void test_part_becomes_whole(void **state) {
        const Config *config = config_make(*state, "part.conf",
                                           "[Instance]\nPages=1500\nShortage=degrade\n", NULL);
        Ledger *ledger = ledger_new(*state, "boot");

        add_ledger_instance(*state, ledger, "part", 1500, true, 0, 600);
        const Plan *plan = plan_with(*state, config, host_make(*state, even), ledger, NULL);

        assert_int_equal(reason_of(plan, "part")->kind, REASON_NONE);
        assert_true(plan_find(plan, "part")->pages_granted == 1500);
}

/* With another demand it is an instance like any other. */
static void test_part_of_another_demand(void **state) {
        const Config *config = config_make(*state, "new.conf", "[Instance]\nPages=1000\nNodes=0\n",
                                           "part.conf",
                                           "[Instance]\nPages=3001\nShortage=degrade\n", NULL);
        Ledger *ledger = ledger_new(*state, "boot");

        add_ledger_instance(*state, ledger, "part", 3000, true, 0, 600);
        assert_text(grants_text(*state,
                                plan_with(*state, config, host_make(*state, even), ledger, NULL),
                                "new"),
                    "0:1000");
}

/* NodeMemory=: each node's part stays, and grows by itself. */
static void test_part_of_split(void **state) {
        const Config *config =
                config_make(*state, "new.conf", "[Instance]\nPages=900\nNodes=1\n", "part.conf",
                            "[Instance]\nNodeMemory=0:4000M 1:400M\nShortage=degrade\n", NULL);
        Ledger *ledger = ledger_new(*state, "boot");

        add_ledger_instance(*state, ledger, "part", 2200, false, 1, 200);
        const Plan *plan = plan_with(*state, config, host_make(*state, even), ledger, NULL);

        assert_text(grants_text(*state, plan, "new"), "-");
        assert_text(grants_text(*state, plan, "part"), "0:1000 1:200");
}

/* A file that was broken since: its pages stay until it is mended, and go to nobody else. */
static void test_broken_file_keeps_pages(void **state) {
        const Config *config = config_make(*state, "a.conf", "[Instance]\nMemory=x\n", "b.conf",
                                           "[Instance]\nPages=1000\nNodes=0\nPriority=99\n", NULL);
        Ledger *ledger = ledger_with_pool(*state, 0, 0, 100, 0);

        add_ledger_instance(*state, ledger, "a", 100, false, 0, 100);
        const Plan *plan = plan_with(*state, config,
                                     host_make(*state, "sizes 2M\n"
                                                       "node 0 total=20G free=3848M 2M=100\n"),
                                     ledger, NULL);

        assert_text(grants_text(*state, plan, "a"), "0:100");
        assert_int_equal(reason_of(plan, "a")->kind, REASON_CONFIG);
        assert_text(grants_text(*state, plan, "b"), "-"); /* 100 + 900, and 100 are a's */
        assert_text(steps_text(*state, plan), "-");
        /* Removed altogether, it gives them back. */
        config = config_make(*state, NULL);
        plan = plan_with(*state, config,
                         host_make(*state, "sizes 2M\nnode 0 total=20G free=3848M 2M=100\n"),
                         ledger, NULL);
        assert_text(steps_text(*state, plan), "0:2M:100->0");
}

static void test_record(void **state) {
        const Config *config = config_make(*state, "a.conf",
                                           "[Instance]\nPages=100\nPlacement=pack\n", "b.conf",
                                           "[Instance]\nPages=999999\n", NULL);
        Ledger *ledger = ledger_new(*state, "boot");
        const Plan *plan = plan_with(*state, config, host_make(*state, even), ledger, NULL);

        add_ledger_instance(*state, ledger, "gone", 5, true, 0, 5);
        add_ledger_instance(*state, ledger, "a", 100, true, 0, 100);
        plan_record(*state, plan, ledger);
        assert_int_equal(ledger->instances.n, 1); /* nothing is recorded of who has nothing */
        const LedgerInstance *a = ledger_instance(ledger, "a");

        assert_true(a->is_held); /* the same demand */
        assert_int_equal(a->placement, PLACEMENT_PACK);
        assert_true(ledger_granted_pages(a) == 100);
        config = config_make(*state, "a.conf", "[Instance]\nPages=101\n", NULL);
        plan = plan_with(*state, config, host_make(*state, even), ledger, NULL);
        plan_record(*state, plan, ledger);
        assert_false(ledger_instance(ledger, "a")->is_held); /* another one */
}

/* ---- what trying has shown ---- */

static void test_limits(void **state) {
        const Config *config = config_make(*state, "a.conf", "[Instance]\nPages=600\nNodes=0\n",
                                           "b.conf",
                                           "[Instance]\nPages=300\nNodes=0\nPriority=10\n", NULL);
        PoolLimits limits = {};

        *vec_push((Arena *) *state, &limits) =
                (PoolLimit){.node = 0,
                            .page_size_bytes = 2 * MIB,
                            .persistent_pages = 400,
                            .reason = {REASON_FRAGMENTED, "in small pieces", "reboot"}};
        const Plan *plan = plan_with(*state, config, host_make(*state, even), NULL, &limits);

        assert_text(grants_text(*state, plan, "a"), "-");
        assert_short(plan, "a", REASON_FRAGMENTED, "in small pieces");
        assert_text(grants_text(*state, plan, "b"), "0:300"); /* what a cannot use whole */
        /* A limit of another page size or node is none. */
        limits.items[0].page_size_bytes = GIB;
        plan = plan_with(*state, config, host_make(*state, even), NULL, &limits);
        assert_text(grants_text(*state, plan, "a"), "0:600");
        limits.items[0].page_size_bytes = 2 * MIB;
        limits.items[0].node = 1;
        plan = plan_with(*state, config, host_make(*state, even), NULL, &limits);
        assert_text(grants_text(*state, plan, "a"), "0:600");
}

/* Spread goes round a node that gave less than it promised. */
static void test_spread_around_limit(void **state) {
        const Config *config = config_make(*state, "a.conf", "[Instance]\nPages=600\n", NULL);
        PoolLimits limits = {};

        *vec_push((Arena *) *state, &limits) = (PoolLimit){.node = 0,
                                                           .page_size_bytes = 2 * MIB,
                                                           .persistent_pages = 100,
                                                           .reason = {REASON_FRAGMENTED, "x", "y"}};
        const Plan *plan = plan_with(*state, config, host_make(*state, even), NULL, &limits);

        assert_text(grants_text(*state, plan, "a"), "0:100 1:500");
        assert_int_equal(reason_of(plan, "a")->kind, REASON_NONE);
}

/* ---- the rest ---- */

static void test_nothing_asked(void **state) {
        const Plan *plan = plan_simple(*state, config_make(*state, NULL), host_make(*state, even));

        assert_int_equal(plan->n_instances, 0);
        assert_text(steps_text(*state, plan), "-");
        assert_null(plan_find(plan, "a"));
        plan = plan_one(*state, even, "Engine=redis");
        assert_text(grants_text(*state, plan, "a"), "-");
        assert_int_equal(reason_of(plan, "a")->kind, REASON_NONE);
}

static void test_absurd_demand(void **state) {
        const Plan *plan = plan_one(*state, even, "Pages=18446744073709551615");

        assert_text(grants_text(*state, plan, "a"), "-");
        assert_text(steps_text(*state, plan), "-");
        assert_int_equal(reason_of(plan, "a")->kind, REASON_NOT_ENOUGH_MEMORY);
        plan = plan_one(*state, even, "NodeMemory=0:15E 1:15E\nShortage=degrade");
        assert_text(grants_text(*state, plan, "a"), "0:1000 1:1000");
}

/* The remedy names only what can help, the reason who goes before. */
static void test_shortage_names_earlier_claims(void **state) {
        const Config *config = config_make(
                *state, "10-a.conf", "[Instance]\nPages=2000\nPriority=60\n", "20-b.conf",
                "[Instance]\nPages=9999\n", "30-c.conf", "[Instance]\nPages=9999\nNodes=1\n", NULL);
        const Plan *plan = plan_simple(*state, config,
                                       host_make(*state, "sizes 2M\nnode 0 total=8G free=8G\n"
                                                         "node 1 total=8G free=8G\n"));
        const Reason *b = &plan_find(plan, "b")->reason, *c = &plan_find(plan, "c")->reason;

        assert_contains(b->text, "3.9G for a (/etc/hugeplan.d/10-a.conf)");
        assert_contains(c->text, "2G for a (/etc/hugeplan.d/10-a.conf)");
        assert_null(strstr(b->remedy, "allow more nodes"));
        assert_contains(b->remedy, "raise its Priority=, or add memory");
        assert_contains(c->remedy, "allow more nodes, raise its Priority=, or add memory");
}

static void test_page_tables(void **state) {
        const Plan *plan = plan_one(*state, even, "Pages=512");

        assert_true(plan_page_tables_bytes(plan_find(plan, "a")) == 2 * MIB);
}

static void test_room(void **state) {
        const Topology *topology =
                host_make(*state, "sizes 2M\nnode 0 total=10G free=2G cache=1G\nnode 1\n");
        const Config *config = config_make(*state, NULL);
        HostConfig host = config->host;

        assert_true(plan_node_room_bytes(&host, &topology->nodes[0]) == 2 * GIB);
        host.may_reclaim = false;
        assert_true(plan_node_room_bytes(&host, &topology->nodes[0]) == GIB);
        host.keep_free = (Amount){.bytes = 3 * GIB};
        assert_true(plan_node_room_bytes(&host, &topology->nodes[0]) == 0);
        assert_true(plan_node_room_bytes(&host, &topology->nodes[1]) == 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_spread),
                TEST(test_spread_uneven),
                TEST(test_spread_named_nodes),
                TEST(test_pack),
                TEST(test_bind),
                TEST(test_split),
                TEST(test_limit_is_exact),
                TEST(test_keep_free),
                TEST(test_floor),
                TEST(test_page_cache),
                TEST(test_memoryless_node),
                TEST(test_node_without_pool_directory),
                TEST(test_sizes_share_memory),
                TEST(test_page_size_preference),
                TEST(test_priority),
                TEST(test_priority_ties),
                TEST(test_degrade),
                TEST(test_degrade_split),
                TEST(test_degrade_pack),
                TEST(test_reason_of_demand),
                TEST(test_existing_pages_count),
                TEST(test_existing_pages_kept),
                TEST(test_shrink),
                TEST(test_surplus_is_not_persistent),
                TEST(test_foreign_pages),
                TEST(test_foreign_pages_alone),
                TEST(test_taken),
                TEST(test_lowered_by_others),
                TEST(test_stays_where_it_is),
                TEST(test_moves_when_changed),
                TEST(test_held_first),
                TEST(test_part_stays),
                TEST(test_beside_part),
                TEST(test_part_and_priority),
                TEST(test_part_becomes_whole),
                TEST(test_part_of_another_demand),
                TEST(test_part_of_split),
                TEST(test_broken_file_keeps_pages),
                TEST(test_record),
                TEST(test_limits),
                TEST(test_spread_around_limit),
                TEST(test_nothing_asked),
                TEST(test_absurd_demand),
                TEST(test_shortage_names_earlier_claims),
                TEST(test_page_tables),
                TEST(test_room),
        };

        return RUN_TESTS(tests);
}
