/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/figures.h"

#include "base/text.h"
#include "demand/unit_policy.h"

enum { SENTENCE_BYTES_MAX = 400 };

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

Gathered *gathered_read(Arena *arena, const Engine *engine, const EngineTarget *target,
                        const Sources *sources) {
        Gathered *gathered = ARENA_NEW(arena, Gathered);

        gathered->problems = diags_in(arena);
        gathered->incomplete =
                target->is_alone
                        ? settings_file_gather(arena, engine, target, sources, gathered)
                        : engine_reader(engine)->gather(arena, engine, target, sources, gathered);
        settings_add_host(arena, &gathered->settings, target->n_cpus, 0);
        return gathered;
}

Figure gathered_figure(Arena *arena, const Engine *engine, const EngineTarget *target,
                       const Gathered *gathered, uint64_t page_size_bytes) {
        Figure figure = {
                .instance = target->instance,
                .gathered = gathered,
                .basis = {gathered->version,
                          engine_fingerprint(engine, arena, &gathered->settings)},
                .wrong = gathered->incomplete,
        };
        Settings settings = {};

        if (figure.wrong || page_size_bytes == 0)
                return figure;
        /* The base page is not a setting that can be changed. */
        vec_push_all(arena, &settings, &gathered->settings);
        settings_add_host(arena, &settings, 0, target->base_page_bytes);
        figure.wrong = engine_size(engine, arena, &settings, page_size_bytes, &figure.sizing);
        /* Both may quote values of settings, and no page of text is printed. */
        if (figure.wrong)
                figure.wrong = text_excerpt(arena, figure.wrong, SENTENCE_BYTES_MAX);
        if (figure.sizing.caveat)
                figure.sizing.caveat =
                        text_excerpt(arena, figure.sizing.caveat, SENTENCE_BYTES_MAX);
        return figure;
}

void figures_add(Arena *arena, const InstanceConfig *instance, const Topology *topology,
                 const Gatherer *gatherer, Figures *figures) {
        const EngineTarget target = figures_target(instance, topology);
        const Gathered *gathered = gatherer->gather(gatherer, arena, instance->engine, &target);
        const uint64_t *sizes;
        size_t n = instance_page_sizes(arena, instance, topology, &sizes);
        Figure figure = gathered_figure(arena, instance->engine, &target, gathered, 0);

        for (size_t i = 0; i < n && !figure.wrong; i++) {
                figure = gathered_figure(arena, instance->engine, &target, gathered, sizes[i]);
                if (!figure.wrong)
                        *vec_push(arena, figures) = figure;
        }
        if (figure.wrong)
                *vec_push(arena, figures) = figure;
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
