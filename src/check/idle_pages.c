/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/idle_pages.h"

#include "base/text.h"
#include "check/kernel_args.h"

/* ---- pages of units, from their mappings ---- */

static UnitUse *unit_of(Arena *arena, HostUse *use, const char *name) {
        UnitUse *unit = VEC_FIND(each, &use->units, text_equals(each->unit, name));

        if (!unit) {
                unit = vec_push(arena, &use->units);
                *unit = (UnitUse){.unit = name, .is_running = true};
        }
        return unit;
}

/* Returns the unit's hold. If the unit was not started by its gate, the hold has what its instance wants and, as in the
 * plan, no known policy: pages that the plan keeps for it are not idle. */
static LedgerHold *hold_of(Arena *arena, Ledger *ledger, const DemandInstance *demand) {
        LedgerHold *hold = ledger_hold(ledger, demand->config->unit, NULL);

        if (!hold) {
                hold = vec_push(arena, &ledger->holds);
                *hold = (LedgerHold){
                        .unit = demand->config->unit,
                        .run = "",
                        .is_assumed = true,
                        .granted = {.name = demand->config->name,
                                    .page_size_bytes = demand->options[0].page_size_bytes,
                                    .pages_wanted = demand->options[0].pages},
                };
        }
        return hold;
}

/* If the kernel does not count for a unit, its mappings are used instead. */
static void count_mappings(Arena *arena, const HostView *input, Ledger *ledger, HostUse *use) {
        const Demand *demand = input->plan->demand;

        VEC_FOREACH(user, &input->page_users->list) {
                const DemandInstance *instance =
                        user->unit ? ARRAY_FIND(each, demand->instances, demand->n_instances,
                                                each->n_options > 0 &&
                                                        text_equals(each->config->unit, user->unit))
                                   : NULL;
                bool is_one_node = input->topology->n_nodes == 1;

                if (!instance || (user->n_nodes == 0 && !is_one_node && user->pages > 0))
                        continue;
                LedgerHold *hold = hold_of(arena, ledger, instance);
                UnitUse *unit = unit_of(arena, use, user->unit);

                if (hold->is_counted && unit_use_charge(unit, user->page_size_bytes))
                        continue;
                const NodePages all = {input->topology->nodes[0].id, user->pages};

                hold->is_counted = true;
                *vec_push(arena, &unit->charges) = (UnitCharge){
                        .page_size_bytes = user->page_size_bytes,
                        .reserved_pages = page_user_kept_pages(user),
                        .used = user->n_nodes > 0 ? user->nodes
                                                  : arena_memdup(arena, &all, sizeof(all)),
                        .n_used = user->n_nodes > 0 ? user->n_nodes : 1,
                };
        }
}

IdlePages idle_pages_find(Arena *arena, const HostView *input, uint64_t page_size_bytes) {
        Ledger *ledger = ledger_copy(arena, input->ledger);
        HostUse use = *input->use;

        use.units.items = arena_memdup(arena, use.units.items, use.units.n * sizeof(UnitUse));
        use.units.capacity = use.units.n;
        if (input->page_users)
                count_mappings(arena, input, ledger, &use);
        const PlanInput plan_input = {
                .host = &input->config->host,
                .demand = input->plan->demand,
                .topology = input->topology,
                .ledger = ledger,
                .use = &use,
                .is_incomplete = input->config->is_incomplete,
        };
        const IdlePools pools = idle_pools_find(arena, &plan_input, input->plan);
        Text where = text_in(arena), command = text_in(arena);
        /* The pools before hugeplan added pages to them. */
        Topology *found = kernel_args_boot_topology(arena, input->topology);
        const Plan *plan = input->plan;
        IdlePages idle = {};

        ARRAY_FOREACH(pool, plan->pools, plan->n_pools) {
                int k = topology_page_size_index(found, pool->page_size_bytes);
                size_t n = topology_node_index(found, pool->node);

                if (k >= 0 && n < found->n_nodes)
                        found->nodes[n].pools[k].total_pages = pool->found_pages;
        }
        VEC_FOREACH(each, &pools) {
                const PlanPool *planned = each->planned;
                uint64_t pages = each->pages;

                if (planned->page_size_bytes != page_size_bytes)
                        continue;
                idle.pages += pages;
                text_add_item(&where, arena_printf(arena, "%s on node %u",
                                                   format_count(arena, pages), planned->node));
                text_printf(&command, "%secho %" PRIu64 " > %s", command.length > 0 ? "; " : "",
                            planned->to_pages - pages,
                            topology_pool_path(arena, input->topology, planned->node,
                                               page_size_bytes, "nr_hugepages"));
                if (input->setting_sources && !idle.source)
                        idle.source = setting_source_for_pool(input->setting_sources, found,
                                                              planned->node, page_size_bytes);
        }
        idle.where = text_string(&where);
        idle.command = text_string(&command);
        if (idle.source)
                idle.origin = arena_printf(arena, "they come from %s",
                                           setting_source_format(arena, idle.source));
        else if (input->history)
                idle.origin = history_say_who(arena, input->history, page_size_bytes);
        return mul_saturated(idle.pages, page_size_bytes) < IDLE_BYTES_MIN ? (IdlePages){} : idle;
}
