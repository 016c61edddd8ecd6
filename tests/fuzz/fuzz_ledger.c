/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any JSON as the ledger of this boot: refused, or taken, written again the same, and planned with
 * without asking a node for more than it has. */

#include "base/size.h"
#include "support/testing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
        if (!holds)
                abort();
}

static void check_round_trip(Arena *arena, const Ledger *ledger) {
        json_t *json = ledger_to_json(ledger);
        const Ledger *again = ledger_from_json(arena, json, "boot");

        require(again != NULL);
        json_t *same = ledger_to_json(again), *copy = ledger_to_json(ledger_copy(arena, ledger));

        require(json_equal(json, same) && json_equal(json, copy));
        json_decref(json);
        json_decref(same);
        json_decref(copy);
}

static void check_plan(Arena *arena, Ledger *ledger) {
        const Config *config =
                config_make(arena, "a.conf", "[Instance]\nPages=100\n", "b.conf",
                            "[Instance]\nPages=300\nPlacement=pack\nShortage=degrade\n", "c.conf",
                            "[Instance]\nMemory=broken\n", "pg-main.conf",
                            "[Instance]\nNodeMemory=0:20M 2:10M\n", NULL);
        const Topology *topology = host_make(arena, "sizes 1G 2M\n"
                                                    "node 0 total=2G free=1G 2M=40/30/5\n"
                                                    "node 2 total=2G free=1G\n");
        const Plan *plan = plan_with(arena, config, topology, ledger, NULL);

        for (size_t p = 0; p < plan->n_pools; p++) {
                const PlanPool *pool = &plan->pools[p];
                const Node *node = topology_node(topology, pool->node);

                require(pool->to_pages >= MIN(pool->found_pages, pool->from_pages));
                require(pool->to_pages <= pool->from_pages ||
                        (pool->to_pages - pool->from_pages) <=
                                plan_node_room_bytes(&config->host, node) / pool->page_size_bytes);
        }
        plan_record(arena, plan, ledger);
        check_round_trip(arena, ledger);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Arena *arena = arena_new();
        json_t *json = json_loadb((const char *) data, size, JSON_REJECT_DUPLICATES, NULL);
        Ledger *ledger = json ? ledger_from_json(arena, json, "boot") : NULL;

        if (ledger) {
                check_round_trip(arena, ledger);
                check_plan(arena, ledger);
        }
        json_decref(json);
        arena_free(arena);
        return 0;
}
