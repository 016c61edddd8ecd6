/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/figures.h"

#include "demand/unit_policy.h"

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

const char *gathered_size(Arena *arena, const Engine *engine, const EngineTarget *target,
                          const Gathered *gathered, uint64_t page_size_bytes, Sizing *ret) {
        Settings settings = {};

        /* The base page is not a setting that can be changed. */
        vec_push_all(arena, &settings, &gathered->settings);
        settings_add_host(arena, &settings, 0, target->base_page_bytes);
        return engine_size(engine, arena, &settings, page_size_bytes, ret);
}

void figures_gather(Arena *arena, const Engine *engine, const EngineTarget *target,
                    const Sources *sources, const uint64_t *page_sizes, size_t n_page_sizes,
                    Figures *ret) {
        Gathered *gathered = ARENA_NEW(arena, Gathered);

        gathered->problems = diags_in(arena);
        const char *wrong =
                target->is_alone
                        ? settings_file_gather(arena, engine, target, sources, gathered)
                        : engine_reader(engine)->gather(arena, engine, target, sources, gathered);

        gathered->incomplete = wrong;
        settings_add_host(arena, &gathered->settings, target->n_cpus, 0);

        for (size_t i = 0; i < n_page_sizes && !wrong; i++) {
                Figure figure = {.instance = target->instance, .gathered = gathered};

                wrong = gathered_size(arena, engine, target, gathered, page_sizes[i],
                                      &figure.sizing);
                if (!wrong)
                        *vec_push(arena, ret) = figure;
        }
        if (wrong || n_page_sizes == 0)
                *vec_push(arena, ret) = (Figure){
                        .instance = target->instance, .gathered = gathered, .wrong = wrong};
}

void figures_add(Arena *arena, const InstanceConfig *instance, const Topology *topology,
                 const Gatherer *gatherer, Figures *figures) {
        const EngineTarget target = figures_target(instance, topology);
        const uint64_t *sizes;
        size_t n = instance_page_sizes(arena, instance, topology, &sizes);
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
                size_t n = instance_page_sizes(arena, instance, topology, &sizes);

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
