/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/size.h"
#include "demand/unit_policy.h"

uint64_t bound_node_bytes(const HostConfig *host, const Node *node) {
        return node->memory_bytes == 0 ? UINT64_MAX
                                       : amount_of(&host->auto_memory, node->memory_bytes);
}

static Reason refuse(Arena *arena, const PageCount *count, const char *bound, const char *remedy) {
        return reason_make(arena, REASON_BEYOND_BOUND, remedy, "it is %s, and %s",
                           format_page_count_and_size(arena, count->pages, count->page_size_bytes),
                           bound);
}

Reason bound_check(Arena *arena, const Config *config, const InstanceConfig *instance,
                   const Topology *topology, const PageCount *count) {
        const HostConfig *host = &config->host;
        const ConfigOrigin *origin = config_find_origin(instance, "Memory");
        const uint64_t memory_bytes = topology_memory_bytes(topology);
        const uint64_t bytes = mul_saturated(count->pages, count->page_size_bytes);
        const IdSet with_memory = topology_memory_nodes(topology);
        const IdSet nodes = instance_named_nodes(instance, &with_memory);
        uint64_t share_bytes =
                ARRAY_SUM(node, topology->nodes, topology->n_nodes,
                          id_set_has(&nodes, node->id) ? bound_node_bytes(host, node) : 0);

        if (memory_bytes == 0)
                return (Reason){};
        if (bytes > memory_bytes)
                return refuse(arena, count,
                              arena_printf(arena, "this host has %s of memory",
                                           format_size(arena, memory_bytes)),
                              "lower its settings, or add memory");
        if (instance->memory_kind != MEMORY_AUTO)
                return (Reason){};
        if (instance->memory_bytes > 0 && bytes > instance->memory_bytes)
                return refuse(arena, count,
                              arena_printf(arena, "Memory=auto:%s in %s:%u allows no more",
                                           format_size(arena, instance->memory_bytes),
                                           origin ? origin->file : instance->file,
                                           origin ? origin->line : 0),
                              "lower its settings, or raise that bound");
        if (bytes <= share_bytes)
                return (Reason){};
        return refuse(
                arena, count,
                arena_printf(arena, "learned sizes may have %s of %s (AutoMemory=%s of each node)",
                             format_size(arena, share_bytes), topology_format_nodes(arena, &nodes),
                             amount_format(arena, &host->auto_memory)),
                "lower its settings, raise AutoMemory= in [Host], or set its size by Memory=");
}
