/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A file of its own, since it links the readers of all products' files. */

#include "demand/figures.h"
#include "engines/reader.h"

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
