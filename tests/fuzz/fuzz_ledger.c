/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any text as the ledger of this boot: it is refused, or read and written again as the same, and used for a plan that
 * needs no more memory of a node than there is, and gives back free pages only. */

#include "base/size.h"
#include "base/text.h"
#include "fuzz/fuzz.h"
#include "status/status.h"
#include "support/testing.h"

static void check_round_trip(Arena *arena, const Ledger *ledger) {
        const char *text = ledger_format(arena, ledger), *lost;
        const Ledger *again = ledger_parse(arena, arena_strdup(arena, text), "boot", &lost);

        require(again != NULL && !lost);
        require(text_equals(text, ledger_format(arena, again)));
        require(text_equals(text, ledger_format(arena, ledger_copy(arena, ledger))));
}

static void check_pool(const Config *config, const Topology *topology, const PlanPool *pool) {
        const Pool *now = topology_pool(topology, pool->node, pool->page_size_bytes);
        const Node *node = topology_node(topology, pool->node);
        uint64_t fewer = sub_floored(pool->from_pages, pool->to_pages);

        require(pool->to_pages >= MIN(pool->found_pages, pool->from_pages));
        require(fewer <= now->free_pages && pool->spare_pages <= now->free_pages);
        require(pool->to_pages <= pool->from_pages + now->surplus_pages ||
                (pool->to_pages - pool->from_pages - now->surplus_pages) <=
                        plan_node_room_bytes(&config->host, node) / pool->page_size_bytes);
}

/* All units with a hold run, and for counted ones the controller counts a few pages. */
static Running run_all(Arena *arena, const Ledger *ledger) {
        Running running = {};

        VEC_FOREACH(hold, &ledger->holds) {
                UnitUse *unit = vec_push(arena, &running.use.units);
                UnitCharge charge = {.page_size_bytes = 2 * MIB, .reserved_pages = 7};

                *unit = (UnitUse){.unit = hold->unit, .is_running = true};
                pages_add_on(arena, &charge.used, 0, 5);
                if (hold->is_counted)
                        *vec_push(arena, &unit->charges) = charge;
        }
        return running;
}

static void check_plan(Arena *arena, Ledger *ledger, const Running *running) {
        const Config *config =
                config_make(arena, "a.conf", "[Instance]\nPages=100\nUnit=x.service\n", "b.conf",
                            "[Instance]\nPages=300\nPlacement=pack\nShortage=degrade\n"
                            "Unit=b.service\n",
                            "c.conf", "[Instance]\nMemory=broken\n", "pg-main.conf",
                            "[Instance]\nNodeMemory=0:20M 2:10M\nUnit=pg.service\n", NULL);
        const Topology *topology = host_make(arena, "sizes 1G 2M\n"
                                                    "node 0 total=2G free=1G 2M=40/30/5\n"
                                                    "node 2 total=2G free=1G\n"
                                                    "reserved 2M=9\n");
        const Plan *plan = plan_beside(arena, config, topology, ledger, running);
        const StatusInput input = {.config = config,
                                   .plan = plan,
                                   .topology = topology,
                                   .use = &running->use,
                                   .ledger = ledger};

        for (size_t p = 0; p < plan->n_pools; p++)
                check_pool(config, topology, &plan->pools[p]);
        require(status_judge(arena, &input)->n_instances == plan->n_instances);
        plan_record(arena, plan, ledger);
        check_round_trip(arena, ledger);
}

FUZZ(arena, data, size) {
        const char *lost = NULL;
        Ledger *ledger =
                ledger_parse(arena, arena_strndup(arena, (const char *) data, size), "boot", &lost);

        require(ledger || lost);
        if (ledger) {
                const Running all = run_all(arena, ledger), none = {};

                check_round_trip(arena, ledger);
                check_plan(arena, ledger_copy(arena, ledger), &all);
                check_plan(arena, ledger, &none);
        }
}
