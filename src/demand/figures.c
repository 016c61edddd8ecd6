/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/figures.h"

EngineTarget figures_target(const InstanceConfig *instance, const Topology *topology) {
        return (EngineTarget){
                .instance = instance->name,
                .unit = instance->unit,
                .config_file = instance->config_file,
                .data_directory = instance->data_directory,
                .user = instance->user,
                .n_cpus = topology ? topology->n_cpus : 0,
                .base_page_bytes = topology ? topology->base_page_bytes : 0,
        };
}

size_t figures_page_sizes(Arena *arena, const InstanceConfig *instance, const Topology *topology,
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
