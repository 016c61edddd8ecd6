/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The planner, beyond its stories (plan.stories, unit/status/test_scene_stories.c): what is recorded, how a lack is
 * explained. property/test_plan_properties.c has what must hold on any host. */

#include "base/size.h"
#include "support/testing.h"

/* Two nodes with room for 1000 pages each: 10% of 20G are kept free, 2000 M beyond that are free. */
static const char even[] = "sizes 1G 2M\n"
                           "node 0 total=20G free=4048M\n"
                           "node 1 total=20G free=4048M\n";

static void add_ledger_instance(Arena *arena, Ledger *ledger, const char *name, uint64_t wanted,
                                unsigned node, uint64_t pages) {
        LedgerInstance *instance = vec_push(arena, &ledger->instances);

        *instance =
                (LedgerInstance){.name = name, .page_size_bytes = 2 * MIB, .pages_wanted = wanted};
        *vec_push(arena, &instance->grants) = (NodePages){node, pages};
}

/* ---- the ledger ---- */

TEST(record) {
        const Config *config = config_line(arena, "a Pages=100 Placement=pack; b Pages=999999");
        Ledger *ledger = ledger_new(arena, "boot");
        const Plan *plan = plan_with(arena, config, host_make(arena, even), ledger, NULL);

        add_ledger_instance(arena, ledger, "gone", 5, 0, 5);
        add_ledger_instance(arena, ledger, "a", 99, 0, 99);
        ledger_note_refusal(arena, ledger, "gone", "", "refused");
        ledger_note_refusal(arena, ledger, "b", "", "refused");
        plan_record(arena, plan, ledger);
        assert_int_equal(ledger->instances.n, 1); /* an instance without pages is not recorded */
        const LedgerInstance *a = ledger_instance(ledger, "a");

        assert_int_equal(a->placement, PLACEMENT_PACK);
        assert_true(ledger_granted_pages(a) == 100);
        assert_int_equal(ledger->refusals.n, 1); /* nor one that no longer exists */
        assert_text(ledger->refusals.items[0].instance, "b");
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
                 "5 of its 30 pages of 2M (60M) are not reserved for it alone: node "
                 "1 has 30 free, of which other instances may take 5",
                 "free memory there and run 'hugeplanctl reload'"},
                {"1",
                 {.pages = 1, .free_pages = 29},
                 30,
                 "1 of its 30 pages of 2M (60M) is in use by others: node 1 has 29 free",
                 "see who uses huge pages in 'hugeplanctl status --all', and describe "
                 "that program in /etc/hugeplan.d, too; 'hugeplanctl reload' "
                 "reserves more"},
                {"0-1",
                 {.pages = 1200,
                  .free_pages = 2000,
                  .taken_pages = 1700,
                  .taker = "c.service",
                  .taker_pages = 1700},
                 1500,
                 "1,200 of its 1,500 pages of 2M (2.9G) are not reserved for it "
                 "alone: nodes 0-1 have 2,000 free, of which c.service may take "
                 "1,700",
                 restart},
                {"1",
                 {.pages = 5,
                  .free_pages = 30,
                  .taken_pages = 9,
                  .taker = "c.service",
                  .taker_pages = 8},
                 30,
                 "5 of its 30 pages of 2M (60M) are not reserved for it alone: node "
                 "1 has 30 free, of which others may take 9, c.service 8 of them",
                 restart},
                {"1",
                 {.pages = 1, .free_pages = 1, .taken_pages = 1, .taker_pages = 1},
                 1,
                 "1 of its 1 page of 2M (2M) is not reserved for it alone: node 1 "
                 "has 1 free, of which processes of no known unit may take 1",
                 "see who uses huge pages in 'hugeplanctl status --all', and "
                 "describe that program in /etc/hugeplan.d, too"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const PlanInstance instance = {.page_size_bytes = 2 * MIB,
                                               .pages_wanted = cases[i].wanted};
                Lack lack = cases[i].lack;

                assert_int_equal(id_set_parse(cases[i].nodes, &lack.nodes), 0);
                const Reason reason = plan_explain_lack(arena, &instance, &lack);

                assert_int_equal(reason.kind, REASON_TAKEN);
                assert_text(reason.text, cases[i].text);
                assert_text(reason.remedy, cases[i].remedy);
        }
}

/* ---- the rest ---- */

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
