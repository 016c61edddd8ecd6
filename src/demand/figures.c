/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/figures.h"

EngineTarget figures_target(const InstanceConfig *instance) {
        return (EngineTarget){
                .instance = instance->name,
                .unit = instance->unit,
                .config_file = instance->config_file,
                .data_directory = instance->data_directory,
                .user = instance->user,
        };
}

static const char *add_size(Arena *arena, const InstanceConfig *instance, const Gathered *gathered,
                            uint64_t page_size_bytes, Figures *figures) {
        Figure figure = {.instance = instance->name, .gathered = gathered};
        const char *wrong =
                instance->engine->size(arena, &gathered->settings, page_size_bytes, &figure.sizing);

        if (!wrong)
                *vec_push(arena, figures) = figure;
        return wrong;
}

/* A page size that the host does not have is left out here; the demand says so. */
static const char *add_sizes(Arena *arena, const InstanceConfig *instance, const Topology *topology,
                             const Gathered *gathered, Figures *figures) {
        const char *wrong = NULL;

        for (size_t i = 0; i < instance->n_page_sizes && !wrong; i++) {
                uint64_t bytes = instance->page_sizes[i] ? instance->page_sizes[i]
                                                         : topology->default_page_size_bytes;

                if (topology_page_size_index(topology, bytes) >= 0)
                        wrong = add_size(arena, instance, gathered, bytes, figures);
        }
        return wrong;
}

void figures_add(Arena *arena, const InstanceConfig *instance, const Topology *topology,
                 const Sources *sources, Figures *figures) {
        EngineTarget target = figures_target(instance);
        Gathered *gathered = ARENA_NEW(arena, Gathered);

        gathered->problems = diags_in(arena);
        const char *wrong = instance->engine->gather(arena, &target, sources, gathered);

        if (!wrong)
                wrong = add_sizes(arena, instance, topology, gathered, figures);
        if (wrong)
                *vec_push(arena, figures) =
                        (Figure){.instance = instance->name, .gathered = gathered, .wrong = wrong};
}

/* Sizes that were learned need no rule: what was learned is as good, and may be exact. */
static void add_unlearned(Arena *arena, const InstanceConfig *instance, const Topology *topology,
                          const Sources *sources, Figures *figures) {
        const PageCounts *learned = &instance->learned.pages;
        bool is_learned = true;
        Figures derived = {};

        for (size_t i = 0; i < instance->n_page_sizes; i++) {
                uint64_t bytes = instance->page_sizes[i] ? instance->page_sizes[i]
                                                         : topology->default_page_size_bytes;

                is_learned = is_learned && (topology_page_size_index(topology, bytes) < 0 ||
                                            page_counts_find(learned, bytes) > 0);
        }
        if (is_learned && learned->n > 0)
                return;
        figures_add(arena, instance, topology, sources, &derived);
        VEC_FOREACH(figure, &derived)
                if (figure->wrong || page_counts_find(learned, figure->sizing.page_size_bytes) == 0)
                        *vec_push(arena, figures) = *figure;
}

Figures figures_derive(Arena *arena, const Config *config, const Topology *topology,
                       const Sources *sources, FiguresWanted wanted) {
        Figures figures = {};

        for (size_t i = 0; i < config->n_instances; i++) {
                const InstanceConfig *instance = &config->instances[i];

                if (instance->refusal || instance->memory_kind != MEMORY_AUTO)
                        continue;
                if (wanted == FIGURES_ALL)
                        figures_add(arena, instance, topology, sources, &figures);
                else
                        add_unlearned(arena, instance, topology, sources, &figures);
        }
        return figures;
}
