/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Figures for programs that may read databases' files: the second half of figures.h. */
#include "demand/figures.h"

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
