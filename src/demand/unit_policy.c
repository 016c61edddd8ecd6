/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/unit_policy.h"

#include "base/text.h"

#include <string.h>

/* 0 stands for the kernel's default size, which may be any. */
bool instances_share_page_size(const InstanceConfig *a, const InstanceConfig *b) {
        return ARRAY_ANY(size, a->page_sizes, a->n_page_sizes,
                         ARRAY_ANY(other, b->page_sizes, b->n_page_sizes,
                                   *size == *other || *size == 0 || *other == 0));
}

IdSet instance_named_nodes(const InstanceConfig *instance, const IdSet *all) {
        IdSet nodes = {};

        if (instance->has_nodes)
                return instance->nodes;
        for (size_t i = 0; i < instance->n_node_memory; i++)
                id_set_add(&nodes, instance->node_memory[i].node);
        return instance->n_node_memory > 0 ? nodes : *all;
}

size_t instance_page_sizes(Arena *arena, const InstanceConfig *instance, const Topology *topology,
                           const uint64_t **ret) {
        uint64_t *sizes = ARENA_ARRAY(arena, uint64_t, instance->n_page_sizes);
        size_t n = 0;

        ARRAY_FOREACH(size, instance->page_sizes, instance->n_page_sizes) {
                uint64_t bytes = *size ? *size : topology->default_page_size_bytes;

                if (topology_page_size_index(topology, bytes) >= 0)
                        sizes[n++] = bytes;
        }
        *ret = sizes;
        return n;
}

/* Returns whether all instances of UNIT have PLACEMENT, and the union of their nodes. */
static bool have_placement(const Config *config, const char *unit, Placement placement,
                           IdSet *ret_nodes) {
        IdSet nodes = {}, all;
        bool has_any = false;

        memset(&all, 0xff, sizeof(all));
        INDEX_FOREACH(entry, config->by_unit, unit) {
                const InstanceConfig *instance = entry->value;

                if (instance->refusal || instance->placement != placement)
                        return false;
                IdSet own = instance_named_nodes(instance, &all);

                id_set_add_all(&nodes, &own);
                has_any = true;
        }
        *ret_nodes = nodes;
        return has_any;
}

/* A split by NodeMemory= is not even, and interleaving is. */
const InstanceConfig *unit_policy_neighbour(const Config *config, const char *unit) {
        const InstanceConfig *neighbour = NULL;
        IdSet nodes;

        if (!have_placement(config, unit, PLACEMENT_SPREAD, &nodes))
                return NULL;
        INDEX_FOREACH(entry, config->by_unit, unit) {
                const InstanceConfig *instance = entry->value;
                const InstanceConfig **found = NULL;

                if (instance->n_node_memory > 0)
                        return NULL;
                if (instance->engine->reserves && !neighbour)
                        found = VEC_FIND(other, &config->bound,
                                         !text_equals((*other)->unit, unit) &&
                                                 instances_share_page_size(instance, *other));
                neighbour = found ? *found : neighbour;
        }
        return neighbour;
}

MemoryPolicy unit_policy(const Config *config, const char *unit) {
        MemoryPolicy policy = {.kind = MEMORY_POLICY_ANY};

        if (have_placement(config, unit, PLACEMENT_BIND, &policy.nodes))
                policy.kind = MEMORY_POLICY_BIND;
        else if (have_placement(config, unit, PLACEMENT_INTERLEAVE, &policy.nodes) ||
                 (unit_policy_neighbour(config, unit) &&
                  have_placement(config, unit, PLACEMENT_SPREAD, &policy.nodes)))
                policy.kind = MEMORY_POLICY_INTERLEAVE;
        return policy;
}
