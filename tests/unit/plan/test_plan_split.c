/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The planner, where memory is short and found larger pages can be split (`demote`). */

#include "base/size.h"
#include "support/testing.h"

/* Room for 150 pages of 2M beyond the 10% that are kept; three free pages of 1G were found. */
static const char roomy[] = "sizes 1G 2M\n"
                            "node 0 total=20G free=2348M 1G=3/3/0\n";

static Topology *splitting_host(Arena *arena, const char *text) {
        Topology *topology = host_make(arena, text);

        for (size_t i = 0; i < topology->n_nodes; i++)
                topology->nodes[i].pools[0].demote_to_bytes = 2 * MIB;
        return topology;
}

static Plan *plan_one(Arena *arena, const Topology *topology, const char *lines) {
        return plan_simple(arena, config_line(arena, "a %s", lines), topology);
}

TEST(memory_comes_first) {
        const Plan *plan = plan_one(arena, splitting_host(arena, roomy), "Pages=150\nPageSize=2M");

        assert_steps(plan, "0:2M:0->150");
        assert_true(plan_pool(plan, 0, GIB)->demoted_pages == 0);
}

/* One page too many for memory: one page of 1G gives 512, which are all it takes. */
TEST(splits_what_is_missing) {
        const Plan *plan = plan_one(arena, splitting_host(arena, roomy), "Pages=151\nPageSize=2M");

        assert_grants(plan, "a", "0:151");
        assert_steps(plan, "0:1G:3=>2 0:2M:0->512");
        assert_true(plan_pool(plan, 0, GIB)->demoted_pages == 1);
        assert_true(plan_pool(plan, 0, 2 * MIB)->gained_pages == 512);
}

/* 150 by memory and 1536 by splitting all three: not one more. */
TEST(never_beyond) {
        const Topology *host = splitting_host(arena, roomy);

        assert_steps(plan_one(arena, host, "Pages=1686\nPageSize=2M"), "0:1G:3=>0 0:2M:0->1686");
        assert_grants(plan_one(arena, host, "Pages=1687\nPageSize=2M"), "a", "-");
}

TEST(only_where_the_kernel_can) {
        assert_grants(plan_one(arena, host_make(arena, roomy), "Pages=151\nPageSize=2M"), "a", "-");
}

TEST(leaves_used_and_promised_pages) {
        const Topology *used = splitting_host(arena, "sizes 1G 2M\n"
                                                     "node 0 total=20G free=2348M 1G=3/1/0\n");
        const Topology *promised = splitting_host(arena, "sizes 1G 2M\n"
                                                         "node 0 total=20G free=2348M 1G=3/3/0\n"
                                                         "reserved 1G=2\n");

        assert_grants(plan_one(arena, used, "Pages=662\nPageSize=2M"), "a", "0:662");
        assert_grants(plan_one(arena, used, "Pages=663\nPageSize=2M"), "a", "-");
        assert_grants(plan_one(arena, promised, "Pages=663\nPageSize=2M"), "a", "-");
}

/* Who asked for the larger pages keeps them. */
TEST(leaves_granted_pages) {
        const Config *config = config_line(
                arena, "big Pages=2 PageSize=1G Priority=90; small Pages=663 PageSize=2M");
        const Plan *plan = plan_simple(arena, config, splitting_host(arena, roomy));

        assert_grants(plan, "big", "0:2");
        assert_grants(plan, "small", "-");
}

TEST(leaves_what_is_kept_for_others) {
        const Config *config =
                config_line(arena, "00 [Host] ExistingPages=keep; a Pages=151 PageSize=2M");

        assert_grants(plan_simple(arena, config, splitting_host(arena, roomy)), "a", "-");
}

/* Applied once, the plan is met: what was split was found. */
TEST(settles) {
        Topology *host = splitting_host(arena, roomy);
        const Config *config = config_line(arena, "a Pages=151 PageSize=2M");
        Ledger *ledger = ledger_new(arena, "boot");
        const Plan *plan = plan_with(arena, config, host, ledger, NULL);

        plan_record(arena, plan, ledger);
        host_apply(host, plan);
        assert_steps(plan_with(arena, config, host, ledger, NULL), "-");
}

/* Small pages cannot be had by growing, for trying has shown that they are fragmented. */
static const PoolLimits *fragmented(Arena *arena) {
        PoolLimits *limits = ARENA_NEW(arena, PoolLimits);

        *vec_push(arena, limits) = (PoolLimit){.page_size_bytes = 2 * MIB,
                                               .reason = {REASON_FRAGMENTED, "fragmented", NULL}};
        return limits;
}

static const Config *small_and_big(Arena *arena) {
        return config_line(arena,
                           "big Pages=3 PageSize=1G; small Pages=100 PageSize=2M Priority=90");
}

/* A found page is split, and another one is made for who wants large ones: as many as before, and
 * two things to do. */
TEST(splits_and_grows) {
        Topology *host = splitting_host(arena, "sizes 1G 2M\nnode 0 total=20G free=8G 1G=3/3/0\n");
        const Config *config = small_and_big(arena);
        Ledger *ledger = ledger_new(arena, "boot");
        const Plan *plan = plan_with(arena, config, host, ledger, fragmented(arena));

        assert_grants(plan, "small", "0:100");
        assert_grants(plan, "big", "0:3");
        assert_steps(plan, "0:1G:3=>2 0:1G:2->3 0:2M:0->512");
        assert_int_equal(plan_count_changed(plan), 2);
        plan_record(arena, plan, ledger);
        host_apply(host, plan);
        assert_steps(plan_with(arena, config, host, ledger, NULL), "-");
}

/* What the kernel would not split is not counted on again. */
TEST(unsplittable) {
        const Topology *host =
                splitting_host(arena, "sizes 1G 2M\nnode 0 total=20G free=8G 1G=3/3/0\n");
        PoolLimits limits = *fragmented(arena);

        *vec_push(arena, &limits) = (PoolLimit){.page_size_bytes = GIB, .cannot_demote = true};
        const Plan *plan =
                plan_with(arena, small_and_big(arena), host, ledger_new(arena, "boot"), &limits);

        assert_grants(plan, "small", "-");
        assert_int_equal(plan_find(plan, "small")->reason.kind, REASON_FRAGMENTED);
        assert_grants(plan, "big", "0:3");
        assert_steps(plan, "-");
}

/* That holds for that very pool: not for another node's, nor for pages of another size. */
TEST(unsplittable_elsewhere) {
        static const PoolLimit others[] = {
                {.node = 1, .page_size_bytes = GIB, .cannot_demote = true},
                {.node = 0, .page_size_bytes = 16 * GIB, .cannot_demote = true},
                {.node = 0, .page_size_bytes = GIB, .persistent_pages = 3},
        };

        for (size_t i = 0; i < ARRAY_LEN(others); i++) {
                const Topology *host =
                        splitting_host(arena, "sizes 1G 2M\nnode 0 total=20G free=8G 1G=3/3/0\n");
                PoolLimits limits = *fragmented(arena);

                *vec_push(arena, &limits) = others[i];
                const Plan *plan = plan_with(arena, small_and_big(arena), host,
                                             ledger_new(arena, "boot"), &limits);

                assert_grants(plan, "small", "0:100");
        }
}

/* Pages of 32M, of which each gives 16, beside those of 1G. */
static Topology *host_of_three_sizes(Arena *arena, const char *pools) {
        Topology *topology =
                host_printf(arena, "sizes 1G 32M 2M\nnode 0 total=20G free=2248M %s\n", pools);

        topology->nodes[0].pools[0].demote_to_bytes = 2 * MIB;
        topology->nodes[0].pools[1].demote_to_bytes = 2 * MIB;
        return topology;
}

/* As few as will do: none of a second size for what the first has given. */
TEST(splits_one_size) {
        const Topology *host = host_of_three_sizes(arena, "1G=1/1/0 32M=5/5/0");

        assert_steps(plan_one(arena, host, "Pages=200\nPageSize=2M"), "0:1G:1=>0 0:2M:0->512");
        assert_steps(plan_one(arena, host, "Pages=620\nPageSize=2M"),
                     "0:1G:1=>0 0:32M:5=>4 0:2M:0->620");
}

/* What memory gives to one is not split for the next: of 120 pages 100 can be had by memory. */
TEST(splits_for_second) {
        const Config *config = config_line(arena, "a Pages=60 PageSize=2M; b Pages=60 PageSize=2M");
        const Plan *plan =
                plan_simple(arena, config, host_of_three_sizes(arena, "1G=0 32M=20/20/0"));

        assert_grants(plan, "b", "0:60");
        assert_steps(plan, "0:32M:20=>18 0:2M:0->120");
}
