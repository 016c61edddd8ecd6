/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/suggest.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"

typedef struct Maker {
        Arena *arena;
        const SuggestInput *input;
} Maker;

static const InstanceConfig *find_described(const Config *config, const Candidate *candidate) {
        for (size_t i = 0; i < config->n_instances; i++) {
                const InstanceConfig *instance = &config->instances[i];

                if ((candidate->target.unit &&
                     text_equals(instance->unit, candidate->target.unit)) ||
                    text_equals(instance->name, candidate->name) ||
                    (candidate->target.data_directory &&
                     text_equals(instance->data_directory, candidate->target.data_directory)))
                        return instance;
        }
        return NULL;
}

/* A comment of as many lines as it takes; whatever is in TEXT, it stays a comment. */
static void add_comment(Text *text, const char *first, const char *paragraph) {
        Text wrapped = text_in(text->arena);

        text_add_wrapped(&wrapped, first, "#   ", paragraph, 88);
        for (char *at = wrapped.string; at && *at; at++)
                if ((unsigned char) *at < ' ' && *at != '\n')
                        *at = '?';
        text_add(text, text_string(&wrapped));
}

static const char *format_figure(Arena *arena, const Sizing *sizing) {
        return arena_printf(
                arena, "%s%s", sizing->is_exact ? "" : "at most ",
                format_page_count_and_size(arena, sizing->pages, sizing->page_size_bytes));
}

/* The settings that make most of it, as they stand. */
static void add_inputs(Text *text, const Engine *engine, const Gathered *gathered) {
        const Setting *main_setting =
                engine->memory_setting ? settings_find(&gathered->settings, engine->memory_setting)
                                       : NULL;

        if (main_setting)
                add_comment(text, "# ",
                            arena_printf(text->arena, "%s = %s%s%s", main_setting->name,
                                         main_setting->value, main_setting->origin ? " in " : "",
                                         main_setting->origin ? main_setting->origin : ""));
        VEC_FOREACH(problem, &gathered->problems.list)
                add_comment(text, "# ", diag_format(text->arena, problem));
}

/* How large it is today, from its own files. Returns why that cannot be said, or NULL. */
static const char *add_size(const Maker *maker, const Candidate *candidate, Text *text,
                            Suggestion *suggestion) {
        const Engine *engine = candidate->engine;
        uint64_t page_size_bytes = maker->input->topology->default_page_size_bytes;
        Figures figures = {};

        if (!engine->has_auto)
                return engine->reserves ? "hugeplan does not read this product's files" : NULL;
        page_size_bytes = page_size_bytes ? page_size_bytes : 2 * MIB;
        maker->input->gatherer->gather(maker->input->gatherer, maker->arena, engine,
                                       &candidate->target, &page_size_bytes, 1, &figures);
        const Figure *figure = &figures.items[figures.n - 1];

        if (figure->wrong)
                return figure->wrong;
        add_inputs(text, engine, figure->gathered);
        suggestion->pages = figure->sizing.pages;
        add_comment(text, "# ",
                    arena_printf(maker->arena, "Today: %s%s.",
                                 format_figure(maker->arena, &figure->sizing),
                                 engine_reader(engine)->ask
                                         ? "; the server itself is asked before each start"
                                         : "; found out anew before each start"));
        return NULL;
}

static void add_keys(Text *text, const Candidate *candidate) {
        const Engine *engine = candidate->engine;

        text_printf(text, "[Instance]\nEngine=%s\n", engine->name);
        if (candidate->target.unit)
                text_printf(text, "Unit=%s\n", candidate->target.unit);
        else
                text_add(text, "#Unit=NAME.service\n");
        if (candidate->target.config_file)
                text_printf(text, "ConfigFile=%s\n", candidate->target.config_file);
        if (candidate->target.data_directory)
                text_printf(text, "DataDirectory=%s\n", candidate->target.data_directory);
        if (candidate->memory_bytes > 0)
                text_printf(text, "Memory=%" PRIu64 "M\n",
                            div_round_up(candidate->memory_bytes, MIB));
        else if (engine->reserves)
                text_add(text, "Memory=auto\n");
}

static void explain_candidate(Arena *arena, const Candidate *candidate, Text *text) {
        add_comment(text, "# ",
                    arena_printf(arena, "%s, found in %s.", candidate->title, candidate->found));
        if (candidate->note)
                add_comment(text, "# ", arena_printf(arena, "%s.", candidate->note));
        if (candidate->memory_bytes > 0)
                add_comment(text, "# ", "The size is that of its segments now.");
        if (!candidate->engine->reserves)
                add_comment(text, "# ",
                            "It takes no reserved huge pages; this states its preference for "
                            "transparent ones.");
}

/* Whose size cannot be found out would be refused by its own gate: it is told of, not proposed. */
static void make_dropin(const Maker *maker, const Candidate *candidate, Suggestion *suggestion) {
        Arena *arena = maker->arena;
        Text text = text_in(arena);

        explain_candidate(arena, candidate, &text);
        if (candidate->is_elsewhere) {
                suggestion->why_not =
                        "it runs with another root directory, in a container most likely, and its "
                        "files are not those of this host; ask it there for its size, and write "
                        "Pages= with the unit that starts it";
                suggestion->peak_bytes = candidate->peak_bytes;
                return;
        }
        /* Nothing of what hugeplan does changes anything for it. */
        if (!candidate->engine->reserves && candidate->engine->thp_preference == THP_AUTO &&
            !candidate->engine->asks_version)
                suggestion->why_not = "it needs none: it takes no reserved huge pages, and turns "
                                      "transparent ones off for itself";
        else if (candidate->memory_bytes == 0)
                suggestion->why_not = add_size(maker, candidate, &text, suggestion);
        if (suggestion->why_not) {
                suggestion->peak_bytes = candidate->peak_bytes;
                return;
        }
        add_keys(&text, candidate);
        suggestion->path =
                arena_printf(arena, PATH_CONFIG_ETC "/20-%s" NAME_CONFIG_SUFFIX, candidate->name);
        suggestion->text = text.string;
}

static Suggestion make_suggestion(const Maker *maker, const Candidate *candidate) {
        const InstanceConfig *described = find_described(maker->input->config, candidate);
        Suggestion suggestion = {
                .title = candidate->title,
                .found = candidate->found,
                .engine = candidate->engine,
                .unit = candidate->target.unit,
        };

        if (described)
                suggestion.described = described->file;
        else
                make_dropin(maker, candidate, &suggestion);
        return suggestion;
}

Suggestions suggest(Arena *arena, const SuggestInput *input) {
        const Maker maker = {arena, input};
        Finder finder = {.arena = arena,
                         .sources = input->sources,
                         .processes = input->processes,
                         .sysv_segments = input->sysv_segments};
        Suggestions suggestions = {};

        engines_find(&finder);
        VEC_FOREACH(candidate, &finder.candidates)
                *vec_push(arena, &suggestions) = make_suggestion(&maker, candidate);
        return suggestions;
}
