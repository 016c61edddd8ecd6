/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/views.h"

#include "base/size.h"
#include "base/table.h"
#include "base/text.h"
#include "demand/learned.h"
#include "model/names.h"

enum { VALUE_COLUMNS_MAX = 60 };

/* ---- a derivation ---- */

static void add_sizing(Text *text, const char *title, const Sizing *sizing,
                       const RenderOptions *options) {
        Arena *arena = text->arena;
        Table *table = table_new(arena, ">BYTES|>|WHAT|HOW");
        uint64_t sum = 0;

        if (title)
                text_printf(text, "%s with pages of %s:\n", title,
                            format_page_size(arena, sizing->page_size_bytes));
        VEC_FOREACH(step, &sizing->steps) {
                table_add(table, format_count(arena, step->bytes));
                table_add(table, format_size(arena, step->bytes));
                table_add(table, step->what);
                table_add(table, step->formula ? step->formula : "as configured");
                sum = add_saturated(sum, step->bytes);
        }
        if (table_rows(table) > 0) {
                table_add(table, format_count(arena, sum));
                table_add(table, format_size(arena, sum));
                table_add(table, "in all");
                table_add(table, "");
                table_print(table, text, "  ", options->is_colored);
                text_add(text, "\n");
        }
        text_printf(text, "  %s = %s bytes (%s), %s\n",
                    format_page_count(arena, sizing->pages, sizing->page_size_bytes),
                    format_count(arena, sizing->bytes), format_size(arena, sizing->bytes),
                    sizing->is_exact ? "exact" : "an estimate");
        render_paragraph(text, options, "  ", "  ", sizing->caveat);
}

char *render_sizing(Arena *arena, const Sizing *sizing, const RenderOptions *options) {
        Text text = text_in(arena);

        add_sizing(&text, NULL, sizing, options);
        return text.string;
}

/* ---- the database's settings, and what was learned ---- */

/* "MongoDB 8.0.4" */
static const char *title_of(Arena *arena, const Engine *engine, const char *version) {
        return version ? arena_printf(arena, "%s %s", engine->title, version) : engine->title;
}

/* Adds the effective value of each setting, as the product reads its files. */
static void add_settings(Text *text, const Lesson *lesson, const RenderOptions *options) {
        Arena *arena = text->arena;
        const Settings *settings = &lesson->gathered->settings;
        Table *table = table_new(arena, "SETTING|VALUE|FROM");

        VEC_FOREACH(setting, settings) {
                if (settings_find(settings, setting->name) != setting)
                        continue;
                table_add(table, text_excerpt(arena, setting->name, VALUE_COLUMNS_MAX));
                table_add(table, text_excerpt(arena, setting->value, VALUE_COLUMNS_MAX));
                table_add(table, setting->origin ? text_printable(arena, setting->origin) : "");
        }
        if (table_rows(table) > 0) {
                const char *version =
                        lesson->version ? text_excerpt(arena, lesson->version, VALUE_COLUMNS_MAX)
                                        : NULL;

                text_printf(text, "\nSettings of %s:\n",
                            title_of(arena, lesson->instance->engine, version));
                table_print(table, text, "  ", options->is_colored);
        }
        if (lesson->gathered->problems.list.n > 0)
                text_printf(text, "\n%s",
                            render_problems(arena, &lesson->gathered->problems, false, options));
}

/* Adds the pages that it maps now, and those that it mapped in earlier runs. */
static void add_seen(Text *text, const InstanceConfig *instance, const Seen *now,
                     const RenderOptions *options) {
        const Seen *seen = &instance->learned.seen;
        Arena *arena = text->arena;

        if (now->pages.n > 0)
                text_printf(text, "\nThe running %s has mapped %s\n", instance->engine->title,
                            seen_format_pages(arena, now));
        if (seen->pages.n > 0)
                text_printf(text, "\nMeasured%s: %s%s (%s)\n",
                            seen_is_known(instance) ? "" : ", of another unit",
                            page_counts_format(arena, &seen->pages),
                            seen->is_exact ? "" : ", an estimate", learned_path(arena, instance));
        else if (instance->unit)
                text_add(text, "\nNothing was measured yet: that requires a start of its unit\n");
        if (seen_is_known(instance) && instance->learned.is_of_running)
                render_paragraph(text, options, "", "  ",
                                 "Its size was learned while it ran, and it may have been started "
                                 "with other settings: the measurement does not lower the size "
                                 "before its next start");
}

/* Adds what was learned, and what the next start learns. */
static void add_learned(Text *text, const Lesson *lesson, const PageCounts *pages) {
        const Learned *learned = &lesson->instance->learned;
        Arena *arena = text->arena;

        if (learned->pages.n > 0)
                text_printf(text, "\nLearned: %s%s (%s)\n",
                            page_counts_format(arena, &learned->pages),
                            learned->is_exact ? ", exact" : ", an estimate",
                            learned_path(arena, lesson->instance));
        else
                text_add(text, "\nNothing was learned yet\n");
        if (lesson_use(lesson) == LESSON_LEARN)
                text_printf(text, "The next start%s learns %s%s\n",
                            learned->pages.n > 0 ? "" : ", or a reload,",
                            page_counts_format(arena, pages),
                            lesson->is_exact ? ", exact" : ", an estimate");
}

static void add_lesson(Text *text, const Lesson *lesson, const Seen *now,
                       const RenderOptions *options) {
        static const char *const whose[] = {
                [SIZING_RULE] = "by the rule",    [SIZING_WORD] = "the server's own answer",
                [SIZING_SEEN] = "measured",       [SIZING_LEARNED] = "learned at the last start",
                [SIZING_GIVEN] = "as configured",
        };
        Arena *arena = text->arena;
        const Engine *engine = lesson->instance->engine;
        const Figures figures = lesson_figures(arena, lesson);
        const PageCounts pages = figures_pages(arena, &lesson->figures);

        if (lesson->gathered)
                add_settings(text, lesson, options);
        if (engine->has_auto_by_looking) {
                text_add(text, "\nIts size is not known before it runs\n");
        } else if (lesson->wrong) {
                render_paragraph(text, options, "\nIts size is not known: ", "  ", lesson->wrong);
        } else {
                VEC_FOREACH(figure, &lesson->by_rule)
                        add_sizing(text, "\nSize by the rule,", &figure->sizing, options);
                /* What the server itself says of its size is more exact than the rule. */
                if (lesson->unasked)
                        render_paragraph(text, options, "\nIts own answer is not available: ", "  ",
                                         lesson->unasked);
                else if (lesson->is_exact && engine->can_be_asked)
                        text_printf(text, "\n%s itself says %s: exact\n", engine->title,
                                    page_counts_format(arena, &pages));
        }
        if (engine->has_auto)
                add_learned(text, lesson, &pages);
        add_seen(text, lesson->instance, now, options);
        /* The figure that counts for the next start, where it comes from, and how exact it is. */
        VEC_FOREACH(figure, &figures) {
                const Sizing *sizing = &figure->sizing;
                /* The rule's was said above. */
                bool has_caveat = sizing->caveat && sizing->source != SIZING_RULE;
                const char *off = sizing->is_exact ? "exact"
                                  : has_caveat     ? sizing->caveat
                                                   : "an estimate";

                render_paragraph(text, options, "\nIn effect: ", "  ",
                                 arena_printf(arena, "%s, %s: %s",
                                              format_page_count(arena, sizing->pages,
                                                                sizing->page_size_bytes),
                                              whose[sizing->source], off));
        }
}

/* ---- an instance ---- */

char *render_explain(Arena *arena, const PlanInstance *planned, const Topology *topology,
                     const Lesson *lesson, const Seen *now, const GeneratedFiles *files,
                     const RenderOptions *options) {
        const DemandInstance *demand = planned->demand;
        const InstanceConfig *config = demand->config;
        const Reason *reason = plan_reason(planned);
        ThpPolicy thp = thp_preference_of(config);
        uint64_t base_page_bytes = topology->base_page_bytes;
        Text text = text_in(arena);

        text_printf(&text, "%s: %s (%s)\n\n", config->name, config->engine->title, config->file);
        Table *origins = table_new(arena, "SETTING|VALUE|FROM");

        VEC_FOREACH(origin, &config->origins) {
                table_printf(origins, "%s=", origin->key);
                table_add(origins, origin->value);
                table_printf(origins, "%s:%u", origin->file, origin->line);
        }
        if (table_rows(origins) > 0)
                table_print(origins, &text, "  ", false);
        if (lesson)
                add_lesson(&text, lesson, now, options);
        else
                ARRAY_FOREACH(option, demand->options, demand->n_options)
                        add_sizing(&text,
                                   option->sizing.source == SIZING_RULE ? "\nSize by the rule,"
                                                                        : "\nSize as configured,",
                                   &option->sizing, options);
        if (demand->n_options > 0)
                text_printf(&text, "\nPlacement=%s on %s: %s\n", placement_names[config->placement],
                            topology_format_nodes(arena, &demand->nodes),
                            planned->grants.n > 0 ? render_nodes(arena, &planned->grants)
                                                  : "nothing");
        if (demand->n_options > 0 && base_page_bytes == 0)
                text_add(
                        &text,
                        "Page tables: not known, because the size of base pages is not known (" PATH_SELF_SMAPS
                        ")\n");
        else if (demand->n_options > 0)
                text_printf(&text,
                            "Page tables: up to %s per session with pages of %s, next to nothing "
                            "with huge pages\n",
                            format_size(arena, page_tables_bytes(plan_wanted_bytes(planned),
                                                                 base_page_bytes)),
                            format_page_size(arena, base_page_bytes));
        if (thp != THP_AUTO)
                text_printf(&text, "%sTransparent huge pages: it prefers '%s' (%s)\n",
                            demand->n_options > 0 ? "" : "\n", thp_policy_name(thp),
                            config->thp != THP_AUTO
                                    ? "TransparentHugePages="
                                    : title_of(arena, config->engine, config->learned.version));
        render_paragraph(&text, options,
                         reason == &planned->reason ? "\nReason: " : "\nIt does not start: ", "  ",
                         reason->text);
        render_paragraph(&text, options, "What to do: ", "  ", reason->remedy);
        VEC_FOREACH(file, files) {
                text_printf(&text, "\nThe generator writes %s:\n", file->name);
                /* Without its comments, which name its source. */
                TEXT_FOREACH(line, arena, file->text, "\n")
                        if (*line != '#')
                                text_printf(&text, "  %s\n", line);
        }
        return text.string;
}
