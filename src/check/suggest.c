/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/suggest.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"

typedef struct Maker {
        Arena *arena;
        const SuggestInput *input;
} Maker;

/* A comment of as many lines as it takes; whatever is in TEXT, it stays a comment. */
static void comment(Text *text, const char *format, ...) PRINTF_LIKE(2, 3);

static void comment(Text *text, const char *format, ...) {
        Text wrapped = text_in(text->arena);
        va_list arguments;

        va_start(arguments, format);
        text_add_wrapped(&wrapped, "# ", "#   ", arena_vprintf(text->arena, format, arguments), 88);
        va_end(arguments);
        for (char *at = wrapped.string; at && *at; at++)
                if ((unsigned char) *at < ' ' && *at != '\n')
                        *at = '?';
        text_add(text, text_string(&wrapped));
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
        const Gathered *gathered = figure->gathered;
        const Setting *setting =
                engine->memory_setting ? settings_find(&gathered->settings, engine->memory_setting)
                                       : NULL;

        const Setting *sessions = settings_find(&gathered->settings, "max_connections");

        if (sessions)
                parse_u64(sessions->value, &suggestion->sessions);
        /* The setting that makes most of it, as it stands. */
        if (setting)
                comment(text, "%s = %s%s%s", setting->name, setting->value,
                        setting->origin ? " in " : "", setting->origin ? setting->origin : "");
        VEC_FOREACH(problem, &gathered->problems.list)
                comment(text, "%s", diag_format(text->arena, problem));
        suggestion->pages = figure->sizing.pages;
        comment(text, "Today: %s%s; %s.", figure->sizing.is_exact ? "" : "at most ",
                format_page_count_and_size(maker->arena, figure->sizing.pages,
                                           figure->sizing.page_size_bytes),
                engine_reader(engine)->ask ? "the server itself is asked before each start"
                                           : "found out anew before each start");
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

/* Whose size cannot be found out would be refused by its own gate: it is told of, not proposed. */
static void propose(const Maker *maker, const Candidate *candidate, Suggestion *suggestion) {
        const Engine *engine = candidate->engine;
        Text text = text_in(maker->arena);

        comment(&text, "%s, found in %s.", candidate->title, candidate->found);
        if (candidate->note)
                comment(&text, "%s.", candidate->note);
        if (candidate->memory_bytes > 0)
                comment(&text, "The size is that of its segments now.");
        if (!engine->reserves)
                comment(&text,
                        "It takes no reserved huge pages; this states its preference for transparent ones.");
        if (candidate->is_elsewhere) {
                suggestion->why_not =
                        "it runs with another root directory, in a container most likely, and its "
                        "files are not those of this host; ask it there for its size, and write "
                        "Pages= with the unit that starts it";
                suggestion->peak_bytes = candidate->peak_bytes;
                return;
        }
        /* Nothing of what hugeplan does changes anything for it. */
        if (!engine->reserves && engine->thp_preference == THP_AUTO && !engine->asks_version)
                suggestion->why_not =
                        "it needs none: it takes no reserved huge pages, and turns transparent ones off for itself";
        else if (candidate->memory_bytes == 0)
                suggestion->why_not = add_size(maker, candidate, &text, suggestion);
        if (suggestion->why_not) {
                suggestion->peak_bytes = candidate->peak_bytes;
                return;
        }
        add_keys(&text, candidate);
        suggestion->path = arena_printf(maker->arena, PATH_CONFIG_ETC "/20-%s" NAME_CONFIG_SUFFIX,
                                        candidate->name);
        suggestion->text = text.string;
}

Suggestions suggest(Arena *arena, const SuggestInput *input) {
        const Maker maker = {arena, input};
        Finder finder = {.arena = arena,
                         .sources = input->sources,
                         .processes = input->processes,
                         .sysv_segments = input->sysv_segments};
        Suggestions suggestions = {};

        engines_find(&finder);
        VEC_FOREACH(candidate, &finder.candidates) {
                const EngineTarget *target = &candidate->target;
                const InstanceConfig *described = ARRAY_FIND(
                        instance, input->config->instances, input->config->n_instances,
                        (target->unit && text_equals(instance->unit, target->unit)) ||
                                text_equals(instance->name, candidate->name) ||
                                (target->data_directory &&
                                 text_equals(instance->data_directory, target->data_directory)));
                Suggestion *suggestion = vec_push(arena, &suggestions);

                *suggestion = (Suggestion){
                        .title = candidate->title,
                        .found = candidate->found,
                        .engine = candidate->engine,
                        .unit = target->unit,
                        .described = described ? described->file : NULL,
                };
                if (!described)
                        propose(&maker, candidate, suggestion);
        }
        return suggestions;
}
