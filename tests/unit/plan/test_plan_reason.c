/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What somebody is told who gets no pages: the figures, who goes before, and only what can help. */

#include "base/size.h"
#include "support/testing.h"

/* Two nodes with 1000 pages of room each: 10% of 20G are kept, 2000 M beyond that are free. */
static const char even[] = "sizes 1G 2M\n"
                           "node 0 total=20G free=4048M\n"
                           "node 1 total=20G free=4048M\n";

static void assert_reason(const Reason *reason, ReasonKind kind, const char *text,
                          const char *remedy) {
        assert_text(reason_id(reason->kind), reason_id(kind));
        assert_text(reason->text, text);
        assert_text(reason->remedy, remedy);
}

typedef struct Case {
        const char *host, *lines, *text, *remedy;
} Case;

/* Of instance a, which is alone there. */
static void assert_cases(Arena *arena, ReasonKind kind, const Case *cases, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const Config *config = config_line(arena, "a %s", cases[i].lines);
                const Topology *host = host_make(arena, cases[i].host);
                const Plan *plan = plan_with(arena, config, host, ledger_new(arena, "boot"), NULL);

                assert_reason(&plan_find(plan, "a")->reason, kind, cases[i].text, cases[i].remedy);
        }
}

TEST(not_enough) {
        static const Case cases[] = {
                {even, "Pages=2001",
                 "2,001 pages of 2M (3.9G) do not fit: nodes 0-1 can give 2,000 (3.9G) beyond "
                 "KeepFree=10%",
                 "ask for at most 2,000 pages, or add memory"},
                {even, "Pages=1001\nNodes=1",
                 "1,001 pages of 2M (2G) do not fit: node 1 can give 1,000 (2G) beyond KeepFree=10%",
                 "ask for at most 1,000 pages, allow more nodes, or add memory"},
                {"sizes 2M\nnode 0 total=20G free=2050M\n", "Pages=2",
                 "2 pages of 2M (4M) do not fit: node 0 can give 1 (2M) beyond KeepFree=10%",
                 "ask for at most 1 page, or add memory"},
                {"sizes 2M\nnode 0 total=20G free=2049M\n", "Pages=1",
                 "1 page of 2M (2M) does not fit: node 0 can give 0 (0) beyond KeepFree=10%",
                 "add memory"},
        };

        assert_cases(arena, REASON_NOT_ENOUGH_MEMORY, cases, ARRAY_LEN(cases));
}

/* What is advised for a node fits there when it is written so. */
TEST(part_not_enough) {
        static const Case cases[] = {
                {even, "NodeMemory=0:20M 1:2002M",
                 "1,001 pages of 2M (2G) on node 1 do not fit: it can give 1,000 beyond KeepFree=10%",
                 "give node 1 at most 2000M in NodeMemory="},
                {"sizes 2M\nnode 0 total=20G free=4048M\nnode 1 total=20G free=1G\n",
                 "NodeMemory=0:20M 1:2M",
                 "1 page of 2M (2M) on node 1 does not fit: it can give 0 beyond KeepFree=10%",
                 "take node 1 out of NodeMemory=, or add memory to it"},
                {"sizes 1G 2M\nnode 0 total=20G free=4048M\nnode 1 total=20G free=4048M 2M=-\n",
                 "PageSize=2M\nNodeMemory=0:20M 1:4M",
                 "2 pages of 2M (4M) on node 1 do not fit: it can give 0 beyond KeepFree=10%",
                 "take node 1 out of NodeMemory=, or add memory to it"},
        };

        assert_cases(arena, REASON_NOT_ENOUGH_MEMORY, cases, ARRAY_LEN(cases));
}

/* ---- who goes before ---- */

static Config *config_of_claims(Arena *arena) {
        return config_line(
                arena, "a Pages=200 Nodes=0 Priority=90; b Pages=100 Priority=80; c Pages=10 "
                       "Nodes=1 Priority=70; d Pages=20 Nodes=0 Priority=60; e Pages=30 Nodes=0 "
                       "Priority=55; y Pages=1001 Nodes=1; z Pages=2001");
}

/* By what each has on these nodes, and three of them by name. */
TEST(claims) {
        const Plan *plan = plan_simple(arena, config_of_claims(arena), host_make(arena, even));

        assert_reason(&plan_find(plan, "y")->reason, REASON_NOT_ENOUGH_MEMORY,
                      "1,001 pages of 2M (2G) do not fit: node 1 can give 940 (1.8G) beyond "
                      "KeepFree=10%, 100M for b (/etc/hugeplan.d/b.conf), 20M for c "
                      "(/etc/hugeplan.d/c.conf)",
                      "ask for at most 940 pages, allow more nodes, raise its Priority=, or add "
                      "memory");
        assert_reason(&plan_find(plan, "z")->reason, REASON_NOT_ENOUGH_MEMORY,
                      "2,001 pages of 2M (3.9G) do not fit: nodes 0-1 can give 1,640 (3.2G) beyond "
                      "KeepFree=10%, 400M for a (/etc/hugeplan.d/a.conf), 200M for b "
                      "(/etc/hugeplan.d/b.conf), 20M for c (/etc/hugeplan.d/c.conf) and 2 more",
                      "ask for at most 1,640 pages, raise its Priority=, or add memory");
}

/* Exactly as many as are named. */
TEST(claims_of_three) {
        const Config *config = config_line(arena, "a Pages=1; b Pages=1; c Pages=1; z Pages=2001");
        const Plan *plan = plan_simple(arena, config, host_make(arena, even));

        assert_text(plan_find(plan, "z")->reason.text,
                    "2,001 pages of 2M (3.9G) do not fit: nodes 0-1 can give 1,997 (3.9G) beyond "
                    "KeepFree=10%, 2M for a (/etc/hugeplan.d/a.conf), 2M for b "
                    "(/etc/hugeplan.d/b.conf), 2M for c (/etc/hugeplan.d/c.conf)");
}

/* Of a part those count who are on its own node. */
TEST(claims_of_part) {
        const Config *config =
                config_make(arena, "a.conf", "[Instance]\nPages=200\nNodes=0\nPriority=90\n",
                            "b.conf", "[Instance]\nPages=100\nNodes=1\nPriority=80\n", "z.conf",
                            "[Instance]\nNodeMemory=0:2M 1:2G\n", NULL);
        const Plan *plan = plan_simple(arena, config, host_make(arena, even));

        assert_reason(&plan_find(plan, "z")->reason, REASON_NOT_ENOUGH_MEMORY,
                      "1,024 pages of 2M (2G) on node 1 do not fit: it can give 900 beyond "
                      "KeepFree=10%, 200M for b (/etc/hugeplan.d/b.conf)",
                      "give node 1 at most 1800M in NodeMemory=");
}

/* Who runs with a part keeps to its page size: that is what it lacks, though another one would suffice. */
TEST(part_held) {
        const Config *config =
                config_line(arena, "a Memory=2G PageSize=1G,2M Shortage=degrade Unit=a.service");
        const Topology *host = host_make(arena, "sizes 1G 2M\n"
                                                "node 0 total=20G free=2448M 1G=2 2M=500\n");
        const Running running = running_make(arena,
                                             "hold a.service a 2M=0:500 wanted=1024 counted\n"
                                             "unit a.service 2M=0\n");
        const Plan *plan = plan_beside(arena, config, host, ledger_new(arena, "boot"), &running);

        assert_grants(plan, "a", "0:700");
        assert_reason(&plan_find(plan, "a")->reason, REASON_NOT_ENOUGH_MEMORY,
                      "1,024 pages of 2M (2G) do not fit: node 0 can give 700 (1.4G) beyond "
                      "KeepFree=10%",
                      "ask for at most 700 pages, or add memory");
}

/* ---- pages that others hold ---- */

static const char taken_remedy[] =
        "see who holds huge pages in 'hugeplanctl status --all', and describe "
        "that program in /etc/hugeplan.d too";

/* Nothing is free beyond the pools. Others use 50 pages of node 0, 20 of node 1. */
static const char taken[] = "sizes 2M\n"
                            "node 0 total=20G free=1G 2M=100/50\n"
                            "node 1 total=20G free=1G 2M=100/80\n";

TEST(taken) {
        static const Case cases[] = {
                {taken, "Pages=200",
                 "others hold 70 pages of 2M (140M) of nodes 0-1, and only 130 of the 200 that it "
                 "wants are left",
                 taken_remedy},
                {taken, "Pages=51\nNodes=0",
                 "others hold 50 pages of 2M (100M) of node 0, and only 50 of the 51 that it wants "
                 "are left",
                 taken_remedy},
                {"sizes 2M\nnode 0 total=20G free=1G 2M=2/1\n", "Pages=2",
                 "others hold 1 page of 2M (2M) of node 0, and only 1 of the 2 that it wants is left",
                 taken_remedy},
                {"sizes 2M\nnode 0 total=20G free=1G 2M=2/0\n", "Pages=2",
                 "others hold 2 pages of 2M (4M) of node 0, and only 0 of the 2 that it wants are "
                 "left",
                 taken_remedy},
                {taken, "NodeMemory=0:200M 1:200M",
                 "others hold 70 pages of 2M (140M) of nodes 0-1, and only 130 of the 200 that it "
                 "wants are left",
                 taken_remedy},
        };

        assert_cases(arena, REASON_TAKEN, cases, ARRAY_LEN(cases));
}

/* Without them it would not fit either: that is a matter of memory. */
TEST(not_only_taken) {
        static const Case cases[] = {
                {taken, "Pages=201",
                 "201 pages of 2M (402M) do not fit: nodes 0-1 can give 130 (260M) beyond "
                 "KeepFree=10%",
                 "ask for at most 130 pages, or add memory"},
                /* On both nodes together there would be enough, but not on one. */
                {taken, "NodeMemory=0:100M 1:204M",
                 "102 pages of 2M (204M) on node 1 do not fit: it can give 80 beyond KeepFree=10%",
                 "give node 1 at most 160M in NodeMemory="},
                {taken, "NodeMemory=0:202M 1:20M",
                 "101 pages of 2M (202M) on node 0 do not fit: it can give 50 beyond KeepFree=10%",
                 "give node 0 at most 100M in NodeMemory="},
                {"sizes 1G 2M\nnode 0 total=20G free=1G 2M=100/50\n"
                 "node 1 total=20G free=1G 2M=-\n",
                 "PageSize=2M\nNodeMemory=0:180M 1:2M",
                 "90 pages of 2M (180M) on node 0 do not fit: it can give 50 beyond KeepFree=10%",
                 "give node 0 at most 100M in NodeMemory="},
        };

        assert_cases(arena, REASON_NOT_ENOUGH_MEMORY, cases, ARRAY_LEN(cases));
}

/* ---- what trying has shown ---- */

static Reason reason_with_limit(Arena *arena, unsigned node, const char *lines) {
        const Config *config = config_line(arena, "a %s", lines);
        PoolLimits limits = {};

        *vec_push(arena, &limits) = (PoolLimit){node, 2 * MIB, .persistent_pages = 400,
                                                .reason = {REASON_FRAGMENTED, "x", "y"}};
        return plan_find(plan_with(arena, config, host_make(arena, even), NULL, &limits), "a")
                ->reason;
}

/* It is the reason on whichever node it is, but not of a part that lies on another one. */
TEST(limits) {
        static const struct {
                unsigned node;
                const char *lines;
                ReasonKind kind;
        } cases[] = {
                {0, "Pages=1500", REASON_FRAGMENTED},
                {1, "Pages=1500", REASON_FRAGMENTED},
                {1, "Pages=1500\nNodes=0", REASON_NOT_ENOUGH_MEMORY},
                {0, "NodeMemory=0:1000M 1:2000M", REASON_FRAGMENTED},
                {0, "NodeMemory=0:802M 1:2M", REASON_FRAGMENTED},
                {0, "NodeMemory=0:800M 1:2002M", REASON_NOT_ENOUGH_MEMORY},
                {1, "NodeMemory=0:2002M 1:800M", REASON_NOT_ENOUGH_MEMORY},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Reason reason = reason_with_limit(arena, cases[i].node, cases[i].lines);

                assert_text(reason_id(reason.kind), reason_id(cases[i].kind));
        }
}

/* ---- what others may take who run ---- */

TEST(lack) {
        static const char restart[] = "restart c.service, which then keeps to its own nodes; or "
                                      "free memory there and run 'hugeplanctl reload'";
        static const struct {
                const char *nodes;
                Lack lack;
                uint64_t wanted;
                const char *text, *remedy;
        } cases[] = {
                {"1",
                 {.pages = 5, .free_pages = 30, .taken_pages = 5},
                 30,
                 "5 of its 30 pages of 2M (60M) are not for it alone: node 1 has 30 free, of which "
                 "other instances may take 5",
                 "free memory there and run 'hugeplanctl reload'"},
                {"1",
                 {.pages = 1, .free_pages = 29},
                 30,
                 "1 of its 30 pages of 2M (60M) is in use by others: node 1 has 29 free",
                 "see who uses huge pages in 'hugeplanctl status', and describe that program in "
                 "/etc/hugeplan.d too; 'hugeplanctl reload' reserves more"},
                {"0-1",
                 {.pages = 1200,
                  .free_pages = 2000,
                  .taken_pages = 1700,
                  .taker = "c.service",
                  .taker_pages = 1700},
                 1500,
                 "1,200 of its 1,500 pages of 2M (2.9G) are not for it alone: nodes 0-1 have 2,000 "
                 "free, of which c.service may take 1,700",
                 restart},
                {"1",
                 {.pages = 5,
                  .free_pages = 30,
                  .taken_pages = 9,
                  .taker = "c.service",
                  .taker_pages = 8},
                 30,
                 "5 of its 30 pages of 2M (60M) are not for it alone: node 1 has 30 free, of which "
                 "others may take 9, c.service 8 of them",
                 restart},
                {"1",
                 {.pages = 1, .free_pages = 1, .taken_pages = 1, .taker_pages = 1},
                 1,
                 "1 of its 1 page of 2M (2M) is not for it alone: node 1 has 1 free, of which "
                 "processes of no unit that is known may take 1",
                 "see who uses huge pages in 'hugeplanctl status --all', and describe that program in "
                 "/etc/hugeplan.d too"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const PlanInstance instance = {.page_size_bytes = 2 * MIB,
                                               .pages_wanted = cases[i].wanted};
                Lack lack = cases[i].lack;

                assert_int_equal(id_set_parse(cases[i].nodes, &lack.nodes), 0);
                const Reason reason = plan_explain_lack(arena, &instance, &lack);

                assert_reason(&reason, REASON_TAKEN, cases[i].text, cases[i].remedy);
        }
}
