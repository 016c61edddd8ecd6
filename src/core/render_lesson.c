/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/size.h"
#include "base/table.h"
#include "base/text.h"
#include "core/render.h"

enum { VALUE_COLUMNS_MAX = 60 };

static size_t width_of(const RenderOptions *options) {
        return options->width > 0 ? options->width : 100;
}

static const char *server_of(Arena *arena, const Lesson *lesson) {
        const char *version = lesson->version;

        return arena_printf(arena, "%s%s%s", lesson->instance->engine->title, version ? " " : "",
                            version ? text_excerpt(arena, version, VALUE_COLUMNS_MAX) : "");
}

/* The last word on each setting, as the product takes them. */
static void add_settings(Text *text, const Lesson *lesson, const RenderOptions *options) {
        static const TableColumn columns[] = {
                {"SETTING", TABLE_LEFT}, {"VALUE", TABLE_LEFT}, {"FROM", TABLE_LEFT}};
        Arena *arena = text->arena;
        const Settings *settings = &lesson->gathered->settings;
        Table *table = table_new(arena, columns, ARRAY_LEN(columns));

        VEC_FOREACH(setting, settings) {
                if (settings_find(settings, setting->name) != setting)
                        continue;
                table_add(table, text_excerpt(arena, setting->name, VALUE_COLUMNS_MAX));
                table_add(table, text_excerpt(arena, setting->value, VALUE_COLUMNS_MAX));
                table_add(table, setting->origin ? text_printable(arena, setting->origin) : "");
        }
        if (table_rows(table) > 0) {
                text_printf(text, "\nWhat %s is told:\n", server_of(arena, lesson));
                table_print(table, text, "  ", options->is_colored);
        }
        if (lesson->gathered->problems.list.n > 0)
                text_printf(text, "\n%s",
                            render_problems(arena, &lesson->gathered->problems, options));
}

static void add_rule(Text *text, const Lesson *lesson, const RenderOptions *options) {
        VEC_FOREACH(figure, &lesson->by_rule) {
                text_printf(text, "\nSize by the rule, with pages of %s:\n",
                            format_page_size(text->arena, figure->sizing.page_size_bytes));
                text_add(text, render_sizing(text->arena, &figure->sizing, options));
        }
}

/* What is better than the rule. */
static void add_word(Text *text, const Lesson *lesson, const RenderOptions *options) {
        const char *title = lesson->instance->engine->title;
        PageCounts pages = figures_pages(text->arena, &lesson->figures);

        if (lesson->unasked)
                text_add_wrapped(text, "\nIts own word is not to be had: ", "  ", lesson->unasked,
                                 width_of(options));
        else if (lesson->is_mapped)
                text_printf(text, "\nThe running %s has mapped %s: exact\n", title,
                            page_counts_format(text->arena, &pages));
        else if (lesson->is_exact && lesson->instance->engine->ask)
                text_printf(text, "\n%s itself says %s: exact\n", title,
                            page_counts_format(text->arena, &pages));
}

static void add_learned(Text *text, const Lesson *lesson) {
        const InstanceConfig *instance = lesson->instance;
        const Learned *learned = &instance->learned;
        Arena *arena = text->arena;
        PageCounts next = lesson_pages(arena, lesson);

        if (learned->pages.n > 0)
                text_printf(text, "\nLearned: %s%s (%s)\n",
                            page_counts_format(arena, &learned->pages),
                            learned->is_exact ? ", exact" : ", an estimate",
                            learned_path(arena, instance));
        else
                text_add(text, "\nNothing was learned yet\n");
        if (lesson_use(lesson) == LESSON_LEARN)
                text_printf(text, "The next start%s learns %s%s\n",
                            learned->pages.n > 0 ? "" : ", or a reload,",
                            page_counts_format(arena, &next),
                            lesson->is_exact ? ", exact" : ", an estimate");
}

char *render_lesson(Arena *arena, const Lesson *lesson, const RenderOptions *options) {
        Text text = text_in(arena);

        if (lesson->gathered)
                add_settings(&text, lesson, options);
        if (lesson->wrong)
                text_add_wrapped(&text, "\nIts size is not to be had: ", "  ", lesson->wrong,
                                 width_of(options));
        else
                add_rule(&text, lesson, options);
        if (!lesson->wrong)
                add_word(&text, lesson, options);
        add_learned(&text, lesson);
        return text.string;
}
