/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/learned.h"

#include "base/size.h"
#include "demand/bound.h"

/* The preference is worth a line of its own where the version has another than its engine in general. */
ThpPolicy learned_thp(const Engine *engine, const char *version) {
        ThpPolicy preference;

        if (!version || engine_thp_preference(engine, version, &preference) < 0 ||
            preference == engine->thp_preference)
                return THP_AUTO;
        return preference;
}

PageCounts figures_pages(Arena *arena, const Figures *figures) {
        PageCounts counts = {};

        VEC_FOREACH(figure, figures)
                if (!figure->wrong)
                        *vec_push(arena, &counts) =
                                (PageCount){figure->sizing.page_size_bytes, figure->sizing.pages};
        return counts;
}

Figure learned_figure(const char *instance, const PageCount *count) {
        return (Figure){
                .instance = instance,
                .sizing =
                        {
                                .page_size_bytes = count->page_size_bytes,
                                .pages = count->pages,
                                .bytes = mul_saturated(count->pages, count->page_size_bytes),
                                .source = SIZING_LEARNED,
                                .caveat =
                                        "As it was found out before its last start, or counted since.",
                        },
        };
}

void learned_add_figures(Arena *arena, const Learned *learned, Figures *figures) {
        VEC_FOREACH(count, &learned->pages) {
                Figure figure = learned_figure(NULL, count);

                figure.sizing.is_exact = learned->is_exact;
                figure.sizing.caveat = NULL;
                *vec_push(arena, figures) = figure;
        }
}

void figures_add_seen(Arena *arena, const InstanceConfig *instance, const FigureBasis *basis,
                      Figures *figures) {
        VEC_FOREACH(figure, figures)
                seen_apply(arena, instance, basis, &figure->sizing);
        VEC_FOREACH(count, &instance->learned.seen.pages) {
                Figure figure = {.sizing = {.page_size_bytes = count->page_size_bytes}};

                if (!VEC_ANY(known, figures,
                             known->sizing.page_size_bytes == count->page_size_bytes) &&
                    seen_apply(arena, instance, &(FigureBasis){}, &figure.sizing))
                        *vec_push(arena, figures) = figure;
        }
}

PageCounts learned_pages(Arena *arena, const InstanceConfig *instance, const Learned *learned) {
        const FigureBasis basis = {learned->version, learned->settings};
        Figures figures = {};

        learned_add_figures(arena, learned, &figures);
        figures_add_seen(arena, instance, &basis, &figures);
        return figures_pages(arena, &figures);
}

Reason learned_beyond(Arena *arena, const Config *config, const InstanceConfig *instance,
                      const Topology *topology, const PageCounts *pages) {
        Reason beyond = {};

        VEC_FOREACH(count, pages)
                if (beyond.kind == REASON_NONE)
                        beyond = bound_check(arena, config, instance, topology, count);
        return beyond;
}
