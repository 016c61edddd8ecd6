/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/learned.h"

#include "base/size.h"
#include "base/text.h"
#include "config/config_value.h"
#include "demand/unit_policy.h"
#include "model/names.h"

/* The preference gets a line of its own if the version's differs from the engine's in general. */
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
                                .caveat = "As determined before its last start, or counted since.",
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

/* ---- NAME.conf.d/90-learned.conf as text, which config/config_keys.c reads ---- */

char *learned_path(Arena *arena, const InstanceConfig *instance) {
        return arena_printf(arena, PATH_CONFIG_ETC "/%s.d/" NAME_LEARNED,
                            text_base_name(instance->file));
}

static void add_headline(Text *text, const InstanceConfig *instance, const Learned *learned) {
        const char *server = arena_printf(text->arena, "%s%s%s", instance->engine->title,
                                          learned->version ? " " : "",
                                          learned->version ? learned->version : "");

        if (learned->pages.n > 0)
                text_printf(text, "# %s takes %s: %s%s.\n", instance->name,
                            page_counts_format(text->arena, &learned->pages),
                            learned->is_exact ? "exact, " : "an estimate for ",
                            learned->is_exact ? arena_printf(text->arena, "%s says so", server)
                                              : server);
        else if (learned->version)
                text_printf(text, "# %s is %s.\n", instance->name, server);
        if (learned->seen.pages.n > 0)
                text_printf(text, "# While %s ran: it has mapped %s.\n",
                            text_printable(text->arena, learned->seen.unit),
                            seen_format_pages(text->arena, &learned->seen));
}

char *learned_format(Arena *arena, const InstanceConfig *instance, const Learned *learned,
                     const char *when) {
        const Seen *seen = &learned->seen;
        Text text = text_in(arena);

        add_headline(&text, instance, learned);
        text_printf(
                &text,
                "#\n"
                "# Written by hugeplan " HUGEPLAN_VERSION
                " on %s, and again when it has changed. Early boot reserves\n"
                "# this size; see LEARNED SIZES in hugeplan.d(5). To forget it, remove this file; to set a\n"
                "# size of your own, write Memory= or Pages= in %s.\n"
                "\n"
                "[Instance]\n",
                when, text_printable(arena, instance->file));
        config_add_value(&text, "Pages", page_counts_value(arena, &learned->pages));
        if (learned->thp != THP_AUTO)
                config_add_value(&text, "TransparentHugePages", thp_policy_name(learned->thp));
        config_add_value(&text, "X-Version", learned->version);
        if (learned->pages.n > 0)
                config_add_value(&text, "X-Exact", learned->is_exact ? "yes" : "no");
        config_add_value(&text, "X-Rule", page_counts_value(arena, &learned->by_rule));
        config_add_value(&text, "X-Settings", learned->settings);
        config_add_value(&text, "X-Fixed", learned->is_fixed ? "yes" : NULL);
        config_add_value(&text, "X-Running", learned->is_of_running ? "yes" : NULL);
        if (seen->pages.n == 0)
                return text.string;
        config_add_value(&text, "X-Seen", page_counts_value(arena, &seen->pages));
        config_add_value(&text, "X-SeenExact", seen->is_exact ? "yes" : "no");
        config_add_value(&text, "X-SeenBase", page_counts_value(arena, &seen->base));
        config_add_value(&text, "X-SeenUnit", seen->unit);
        config_add_value(&text, "X-SeenVersion", seen->version);
        config_add_value(&text, "X-SeenSettings", seen->settings);
        return text.string;
}

bool learned_is_kept(const InstanceConfig *instance, const Learned *learned) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return !instance->learned.is_broken &&
               text_equals(learned_format(arena, instance, learned, ""),
                           learned_format(arena, instance, &instance->learned, ""));
}

char *learned_describe(Arena *arena, const InstanceConfig *instance, const Learned *learned) {
        const PageCounts pages = learned_pages(arena, instance, learned);
        const PageCounts *before = &instance->learned.pages;

        if (!seen_is_same(&learned->seen, &instance->learned.seen))
                return arena_printf(arena, "%s: measured: it has mapped %s", instance->name,
                                    seen_format_pages(arena, &learned->seen));
        if (pages.n == 0)
                return arena_printf(arena, "%s: learned its version: %s %s", instance->name,
                                    instance->engine->title, learned->version);
        return arena_printf(arena, "%s: learned its size: %s%s%s%s%s", instance->name,
                            page_counts_format(arena, &pages),
                            learned->is_exact ? "" : ", an estimate",
                            before->n > 0 ? "; before it was " : "",
                            before->n > 0 ? page_counts_format(arena, before) : "",
                            before->n > 0 && !instance->learned.is_exact ? ", an estimate" : "");
}
