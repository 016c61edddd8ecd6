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

void figures_add(Arena *arena, const InstanceConfig *instance, const Topology *topology,
                 const Gatherer *gatherer, Figures *figures) {
        const EngineTarget target = figures_target(instance, topology);
        const uint64_t *sizes;
        size_t n = figures_page_sizes(arena, instance, topology, &sizes);
        Figures found = {};

        gatherer->gather(gatherer, arena, instance->engine, &target, sizes, n, &found);
        VEC_FOREACH(figure, &found)
                if (figure->wrong || n > 0)
                        *vec_push(arena, figures) = *figure;
}

Figures figures_derive(Arena *arena, const Config *config, const Topology *topology,
                       const Gatherer *gatherer, FiguresWanted wanted) {
        Figures figures = {};

        ARRAY_FOREACH(instance, config->instances, config->n_instances) {
                const PageCounts *learned = &instance->learned.pages;
                const uint64_t *sizes;
                Figures derived = {};

                if (instance->refusal || instance->memory_kind != MEMORY_AUTO ||
                    !instance->engine->has_auto)
                        continue;
                size_t n = figures_page_sizes(arena, instance, topology, &sizes);

                /* Sizes that were learned need no rule: what was learned is as good, and may be exact. */
                if (wanted == FIGURES_UNLEARNED && learned->n > 0 &&
                    !ARRAY_ANY(size, sizes, n, page_counts_find(learned, *size) == 0))
                        continue;
                figures_add(arena, instance, topology, gatherer, &derived);
                VEC_FOREACH(figure, &derived)
                        if (wanted == FIGURES_ALL || figure->wrong ||
                            page_counts_find(learned, figure->sizing.page_size_bytes) == 0)
                                *vec_push(arena, &figures) = *figure;
        }
        return figures;
}
