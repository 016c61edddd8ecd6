/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/suggest.h"

#include "base/size.h"
#include "base/text.h"
#include "config/config_value.h"
#include "model/names.h"

/* ---- present size ---- */

static Figure gather(const SuggestInput *input, const Engine *engine, const EngineTarget *target) {
        return gathered_figure(
                input->arena, engine, target,
                input->gatherer->gather(input->gatherer, input->arena, engine, target),
                topology_usual_page_size(input->topology));
}

static void add_figure(const SuggestInput *input, const Candidate *candidate, const Figure *figure,
                       Text *text) {
        const Engine *engine = candidate->engine;
        const Gathered *gathered = figure->gathered;
        const Setting *setting =
                engine->memory_setting ? settings_find(&gathered->settings, engine->memory_setting)
                                       : NULL;

        /* The setting that decides most of the size, as it is set. */
        if (setting)
                config_add_comment(text, "%s = %s%s%s", setting->name, setting->value,
                                   setting->origin ? " in " : "",
                                   setting->origin ? setting->origin : "");
        VEC_FOREACH(problem, &gathered->problems.list)
                config_add_comment(text, "%s", diag_format(text->arena, problem));
        if (figure->sizing.page_size_bytes == 0)
                return;
        config_add_comment(text, "Today: %s%s; %s.", figure->sizing.is_exact ? "" : "at most ",
                           format_page_count_and_size(input->arena, figure->sizing.pages,
                                                      figure->sizing.page_size_bytes),
                           candidate->target.arguments ? "as it runs now, and not determined again"
                           : engine_reader(engine)->ask
                                   ? "the server itself is asked before each start"
                                   : "determined again before each start");
}

/* Adds the size from the database's own files, or else from its process, by its directory or its arguments, with which
 * CANDIDATE is then described. Returns why that is not possible, or NULL. */
static const char *add_size(const SuggestInput *input, Candidate *candidate, Text *text,
                            Suggestion *suggestion) {
        const Engine *engine = candidate->engine;
        const Process *process = candidate->process;
        EngineTarget target = candidate->target;

        if (!engine->has_auto)
                return engine->reserves ? "hugeplan does not read this product's files" : NULL;
        Figure figure = gather(input, engine, &target);
        const char *wrong = figure.wrong;

        if (wrong) {
                if (process && !engine->data_option)
                        target.arguments = &process->arguments;
                else if (process && !target.data_directory)
                        target.data_directory = finder_data_directory(process, engine);
                if (!process || (!target.arguments && !target.data_directory))
                        return wrong;
                figure = gather(input, engine, &target);
                if (figure.wrong)
                        return wrong;
                candidate->target = target;
                config_add_comment(
                        text, "Its unit does not show the size: %s. But process %" PRIu64 " does.",
                        wrong, process->pid);
        }
        add_figure(input, candidate, &figure, text);
        suggestion->sessions = engine_sessions(engine, figure.gathered);
        suggestion->pages = figure.sizing.pages;
        suggestion->data_directory = figure.gathered->data_directory;
        return NULL;
}

/* ---- drop-ins ---- */

/* Files below another root directory are not read, because its owner decides where their paths lead. */
static const char *refuse_elsewhere(Arena *arena, const Candidate *candidate) {
        const Process *process = candidate->process;
        const char *unit = candidate->target.unit, *mapped = "";

        if (process && process->mapped_bytes > 0)
                mapped = arena_printf(arena, "; it has now mapped %s that could be in huge pages",
                                      format_size(arena, process->mapped_bytes));
        return arena_printf(
                arena,
                "it runs in %s, whose files are not this host's and are not read%s; describe %s with "
                "Engine=generic and Memory=auto, if its processes are in that unit's control group, or "
                "with Pages= and without Unit=",
                process && process->container ? process->container
                                              : "a container or another root directory",
                mapped, unit ? unit : "a unit that starts it (a podman quadlet, for one)");
}

/* Returns why a database is not proposed, whatever its size; NULL: it may be proposed. */
static const char *refuse(const SuggestInput *input, const Candidate *candidate) {
        const Engine *engine = candidate->engine;

        /* hugeplan can do nothing for such an engine. */
        if (!engine->reserves && engine->thp_preference == THP_AUTO && !engine->asks_version)
                return "it needs none: it takes no reserved huge pages, and disables transparent huge pages for itself";
        return candidate->is_elsewhere && engine->reserves
                       ? refuse_elsewhere(input->arena, candidate)
               : candidate->is_elsewhere && !candidate->target.unit
                       ? "it runs in a container, and in no unit of the host's"
                       : NULL;
}

/* A database without a known size would be refused by its own gate, so it is only reported. */
static void propose(const SuggestInput *input, Candidate *candidate, Suggestion *suggestion) {
        const Engine *engine = candidate->engine;
        Text text = text_in(input->arena);

        config_add_comment(&text, "%s, found in %s.", candidate->title, candidate->found);
        if (candidate->note)
                config_add_comment(&text, "%s.", candidate->note);
        if (candidate->memory_bytes > 0)
                config_add_comment(&text, "The size is that of its segments now.");
        if (!engine->reserves)
                config_add_comment(
                        &text,
                        "It takes no reserved huge pages; this states its preference for transparent ones.");
        suggestion->why_not = refuse(input, candidate);
        if (!suggestion->why_not && candidate->memory_bytes == 0)
                suggestion->why_not = add_size(input, candidate, &text, suggestion);
        if (suggestion->why_not) {
                suggestion->peak_bytes = candidate->process ? candidate->process->peak_bytes : 0;
                return;
        }
        const EngineTarget *target = &candidate->target;

        text_add(&text, "[Instance]\n");
        config_add_value(&text, "Engine", engine->name);
        config_add_value(&text, "Unit", target->unit);
        text_add(&text, target->unit ? "" : "#Unit=NAME.service\n");
        config_add_value(&text, "ConfigFile", target->config_file);
        config_add_value(&text, "DataDirectory", target->data_directory);
        if (target->arguments)
                text_printf(&text, "Pages=%" PRIu64 "\n", suggestion->pages);
        else if (candidate->memory_bytes > 0)
                text_printf(&text, "Memory=%" PRIu64 "M\n",
                            div_round_up(candidate->memory_bytes, MIB));
        else if (engine->reserves)
                text_add(&text, "Memory=auto\n");
        suggestion->path = arena_printf(input->arena, PATH_CONFIG_ETC "/20-%s" NAME_CONFIG_SUFFIX,
                                        candidate->name);
        suggestion->text = text.string;
}

/* Returns the directory of a database that is described already; NULL: not known. */
static const char *described_directory(const SuggestInput *input, const Candidate *candidate,
                                       const InstanceConfig *described) {
        const EngineTarget *target = &candidate->target;
        const char *known = described->data_directory ?: target->data_directory;

        if (known || !candidate->engine->has_auto || candidate->is_elsewhere)
                return known;
        return input->gatherer->gather(input->gatherer, input->arena, candidate->engine, target)
                ->data_directory;
}

/* Of two suggestions for one database, that of the higher rank is kept. */
static unsigned rank_of(const Suggestion *suggestion) {
        return suggestion->described ? 2 : suggestion->unit && suggestion->is_running ? 1 : 0;
}

/* Two units with the same data directory are one database, such as a Debian cluster that Patroni runs: one of them is
 * not proposed, the later one of equal rank. */
static void drop_duplicate(Arena *arena, Suggestions *suggestions) {
        Suggestion *later = &suggestions->items[suggestions->n - 1];
        Suggestion *earlier =
                ARRAY_FIND(other, suggestions->items, suggestions->n - 1,
                           (other->path || other->described) && other->data_directory &&
                                   text_equals(other->data_directory, later->data_directory));

        if (!earlier || !(later->path || later->described))
                return;
        bool is_later = rank_of(later) > rank_of(earlier);
        Suggestion *winner = is_later ? later : earlier, *loser = is_later ? earlier : later;

        loser->path = loser->text = NULL;
        loser->why_not = arena_printf(arena, "its data directory %s is that of %s",
                                      text_excerpt(arena, later->data_directory, 200),
                                      winner->unit ? winner->unit : winner->found);
}

Suggestions suggest(const SuggestInput *input) {
        Arena *arena = input->arena;
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
                                (target->config_file &&
                                 text_equals(instance->config_file, target->config_file)) ||
                                (target->data_directory &&
                                 text_equals(instance->data_directory, target->data_directory)));
                Suggestion suggestion = {
                        .title = candidate->title,
                        .found = candidate->found,
                        .engine = candidate->engine,
                        .unit = target->unit,
                        .is_running = candidate->process != NULL,
                        .described = described ? described->file : NULL,
                };

                if (described)
                        suggestion.data_directory =
                                described_directory(input, candidate, described);
                else
                        propose(input, candidate, &suggestion);
                if (candidate->is_guess && suggestion.why_not)
                        finder_pass(&finder, suggestion.unit, suggestion.why_not);
                else {
                        *vec_push(arena, &suggestions) = suggestion;
                        drop_duplicate(arena, &suggestions);
                }
        }
        suggestions.processes = *input->processes;
        /* Only now are the data directories from the servers' own files known. */
        VEC_KEEP(passed, &finder.passed_over,
                 !VEC_ANY(suggestion, &suggestions,
                          text_equals(suggestion->data_directory, passed->name)));
        suggestions.passed_over = finder.passed_over;
        return suggestions;
}
