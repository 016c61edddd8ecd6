/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/unit_policy.h"

#include "base/text.h"

#include <string.h>

/* 0 stands for the kernel's default size, which may be any. */
bool instances_share_page_size(const InstanceConfig *a, const InstanceConfig *b) {
        for (size_t i = 0; i < a->n_page_sizes; i++)
                for (size_t k = 0; k < b->n_page_sizes; k++)
                        if (a->page_sizes[i] == b->page_sizes[k] || a->page_sizes[i] == 0 ||
                            b->page_sizes[k] == 0)
                                return true;
        return false;
}

IdSet instance_named_nodes(const InstanceConfig *instance, const IdSet *all) {
        IdSet nodes = {};

        if (instance->has_nodes)
                return instance->nodes;
        for (size_t i = 0; i < instance->n_node_memory; i++)
                id_set_add(&nodes, instance->node_memory[i].node);
        return instance->n_node_memory > 0 ? nodes : *all;
}

/* All instances of the unit have this placement; their nodes together. */
static bool have_placement(const Config *config, const char *unit, Placement placement,
                           IdSet *ret_nodes) {
        IdSet nodes = {}, all;
        bool has_any = false;

        memset(&all, 0xff, sizeof(all));
        for (size_t i = 0; i < config->n_instances; i++) {
                const InstanceConfig *instance = &config->instances[i];

                if (!text_equals(instance->unit, unit))
                        continue;
                IdSet own = instance_named_nodes(instance, &all);

                if (instance->refusal || instance->placement != placement)
                        return false;
                ID_SET_FOREACH(node, &own)
                        id_set_add(&nodes, node);
                has_any = true;
        }
        *ret_nodes = nodes;
        return has_any;
}

static const InstanceConfig *find_bound_neighbour(const Config *config,
                                                  const InstanceConfig *instance) {
        for (size_t i = 0; i < config->n_instances; i++) {
                const InstanceConfig *other = &config->instances[i];

                if (!other->refusal && other->engine->reserves &&
                    other->placement == PLACEMENT_BIND &&
                    !text_equals(other->unit, instance->unit) &&
                    instances_share_page_size(instance, other))
                        return other;
        }
        return NULL;
}

/* What is split by NodeMemory= is not even, and in turn means evenly. */
const InstanceConfig *unit_policy_neighbour(const Config *config, const char *unit) {
        const InstanceConfig *neighbour = NULL;
        IdSet nodes;

        if (!have_placement(config, unit, PLACEMENT_SPREAD, &nodes))
                return NULL;
        for (size_t i = 0; i < config->n_instances; i++) {
                const InstanceConfig *instance = &config->instances[i];

                if (!text_equals(instance->unit, unit))
                        continue;
                if (instance->n_node_memory > 0)
                        return NULL;
                if (instance->engine->reserves && !neighbour)
                        neighbour = find_bound_neighbour(config, instance);
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
