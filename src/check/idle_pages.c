/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/idle_pages.h"

#include "base/text.h"
#include "check/boot/kernel_args.h"
#include "model/names.h"

typedef struct Idler {
        Arena *arena;
        const IdleInput *input;
} Idler;

static bool is_of_instance(const Idler *idler, const PageUser *user) {
        const Config *config = idler->input->config;

        return user->unit &&
               ARRAY_ANY(instance, config->instances, config->n_instances,
                         !instance->refusal && text_equals(instance->unit, user->unit));
}

/* Of what is in use on a node, what surely is instances' own. */
static uint64_t own_used_pages(const Idler *idler, unsigned node, uint64_t page_size_bytes) {
        uint64_t pages = 0;

        if (idler->input->page_users)
                VEC_FOREACH(user, &idler->input->page_users->list) {
                        if (user->page_size_bytes != page_size_bytes ||
                            !is_of_instance(idler, user))
                                continue;
                        pages += ARRAY_SUM(each, user->nodes, user->n_nodes,
                                           each->node == node ? each->pages : 0);
                        if (user->n_nodes == 0 && idler->input->topology->n_nodes == 1)
                                pages += user->pages;
                }
        return pages;
}

/* On one node: a lower bound, for what is not known counts as somebody's. */
static uint64_t idle_on(const Idler *idler, const PlanPool *planned) {
        const Topology *topology = idler->input->topology;
        uint64_t bytes = planned->page_size_bytes;
        const Pool *now = topology_pool(topology, planned->node, bytes);

        if (!now)
                return 0;
        uint64_t used = pool_used_pages(now),
                 own = MIN(used, own_used_pages(idler, planned->node, bytes));
        uint64_t promised =
                topology->page_sizes[topology_page_size_index(topology, bytes)].reserved_pages;

        /* Promised to anybody who may be no instance; on which node, nobody knows. */
        if (idler->input->page_users)
                VEC_FOREACH(user, &idler->input->page_users->list)
                        if (user->page_size_bytes == bytes && is_of_instance(idler, user))
                                promised = sub_floored(
                                        promised, sub_floored(user->mapped_pages, user->pages));
        uint64_t needed = add_saturated(MAX(planned->granted_pages, own),
                                        add_saturated(used - own, promised));

        return MIN(sub_floored(planned->to_pages, needed), now->free_pages);
}

IdlePages idle_pages_find(Arena *arena, const IdleInput *input, uint64_t page_size_bytes) {
        const Idler idler = {arena, input};
        Text where = text_in(arena), command = text_in(arena);
        /* The pools as they were before hugeplan added to them. */
        Topology *found = kernel_args_boot_topology(arena, input->topology);
        const Plan *plan = input->plan;
        IdlePages idle = {};

        if (input->config->host.existing_pages != EXISTING_USE)
                return idle;
        ARRAY_FOREACH(pool, plan->pools, plan->n_pools) {
                int k = topology_page_size_index(found, pool->page_size_bytes);
                size_t n = topology_node_index(found, pool->node);

                if (k >= 0 && n < found->n_nodes)
                        found->nodes[n].pools[k].total_pages = pool->found_pages;
        }
        ARRAY_FOREACH(planned, plan->pools, plan->n_pools) {
                uint64_t pages =
                        planned->page_size_bytes == page_size_bytes ? idle_on(&idler, planned) : 0;

                if (pages == 0)
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
        return mul_saturated(idle.pages, page_size_bytes) < IDLE_BYTES_MIN ? (IdlePages){} : idle;
}
