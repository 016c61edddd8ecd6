/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `suggest`: drop-ins for the databases that were found on this host. */
#include "check/suggest.h"

#include "base/json.h"
#include "base/text.h"
#include "ctl/verbs.h"
#include "host/host_sources.h"
#include "host/probe.h"
#include "inspect/gather.h"
#include "inspect/oracle_files.h"
#include "inspect/pages/unit_mappings.h"
#include "inspect/processes.h"
#include "model/exit_code.h"
#include "model/names.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SEGMENTS_BYTES_MAX = 1 << 20 };

static bool is_server(Arena *arena, const RunningProcess *process) {
        const char *program = finder_program(arena, process);

        return ARRAY_ANY(engine, engines, n_engines,
                         (*engine)->servers && text_has_word((*engine)->servers, program));
}

/* Of servers whose files are not read. */
static void look_elsewhere(const Command *command, RunningProcesses *processes) {
        VEC_FOREACH(process, processes)
                if (process->is_elsewhere && is_server(command->arena, process))
                        process->mapped_bytes = process_mappings_bytes(command->root, process->pid);
}

Suggestions suggestions_find(Command *command) {
        Arena *arena = command->arena;
        HostSources sources = host_sources(command->root, arena);
        OwnerGatherer owner = gather_as_owner(command->root);
        Overlay overlay = overlay_over(&sources.sources);
        RunningProcesses processes = processes_list(command->root, arena);
        char *segments = NULL;

        root_read_kernel_file(command->root, arena, PATH_SYSV_SHM, SEGMENTS_BYTES_MAX, &segments,
                              NULL);
        look_elsewhere(command, &processes);
        oracle_files_add(command->root, arena, &overlay);
        const SuggestInput input = {
                .config = read_config(command),
                .topology = probe_topology(command->root, arena),
                .sources = &overlay.sources,
                .gatherer = &owner.gatherer,
                .processes = &processes,
                .sysv_segments = segments,
        };

        return suggest(arena, &input);
}

/* ---- what people read ---- */

static void print_wrapped(const Command *command, const char *first, const char *indent,
                          const char *paragraph) {
        Text text = text_in(command->arena);

        text_add_wrapped(&text, first, indent, paragraph,
                         command->render.width > 0 ? command->render.width : 100);
        fputs(text_string(&text), stdout);
}

static void print_unproposed(const Command *command, const Suggestion *suggestion) {
        Arena *arena = command->arena;
        const char *first = arena_printf(arena, "# %s (%s): ", suggestion->title,
                                         suggestion->unit ? suggestion->unit : suggestion->found);

        if (suggestion->described) {
                printf("%sdescribed by %s\n", first, suggestion->described);
                return;
        }
        Text why = text_in(arena);

        text_printf(&why, "not proposed: %s", suggestion->why_not);
        if (suggestion->peak_bytes > 0)
                text_printf(&why, " (its process had at most %s mapped so far)",
                            format_size(arena, suggestion->peak_bytes));
        print_wrapped(command, first, "#     ", why.string);
}

/* Who misses a database sees whether it was looked where it is. */
static void print_places(const Command *command, const Suggestions *suggestions) {
        Arena *arena = command->arena;
        Text places = text_in(arena);

        VEC_FOREACH(place, &suggestions->places)
                text_add_item(&places, arena_printf(arena, "%s (%zu)", place->title, place->n));
        print_wrapped(command, "# Looked at: ", "#   ", text_string(&places));
        if (suggestions->passed_over.n > 0)
                puts("# Passed over:");
        VEC_FOREACH(passed, &suggestions->passed_over)
                print_wrapped(command, "#   ", "#     ",
                              arena_printf(arena, "%s: %s", text_printable(arena, passed->name),
                                           passed->why));
        if (root_is_host(command->root) && geteuid() != 0)
                puts("# As root more would have been seen.");
}

static void print_suggestions(const Command *command, const Suggestions *suggestions) {
        size_t n = 0;

        VEC_FOREACH(suggestion, suggestions)
                n += suggestion->path != NULL;
        VEC_FOREACH(suggestion, suggestions)
                if (suggestion->path && !command->is_writing)
                        printf("# ---- %s ----\n%s\n", suggestion->path, suggestion->text);
        VEC_FOREACH(suggestion, suggestions)
                if (!suggestion->path)
                        print_unproposed(command, suggestion);
        if (suggestions->n == 0)
                puts("# No databases were found that hugeplan knows.");
        print_places(command, suggestions);
        if (command->is_writing)
                puts(n > 0 ? "Read them, then: hugeplanctl plan; systemctl daemon-reload; hugeplanctl reload"
                           : "There is nothing to write.");
        else if (n > 0)
                printf("# 'hugeplanctl suggest --write' creates %s; read %s, then 'hugeplanctl plan'.\n",
                       n == 1 ? "this file" : "these files", n == 1 ? "it" : "them");
}

/* ---- writing ---- */

static int write_suggestions(Command *command, const Suggestions *suggestions) {
        int code = EXIT_DONE;

        VEC_FOREACH(suggestion, suggestions)
                if (suggestion->path &&
                    create_file(command, suggestion->path, suggestion->text) != EXIT_DONE)
                        code = EXIT_FAILED;
        return code;
}

static json_t *suggestions_to_json(const Suggestions *suggestions) {
        json_t *list = VEC_TO_JSON(
                suggestion, suggestions,
                json_pack("{ss ss ss ss? ss? ss? ss? ss? so}", "title", suggestion->title, "found",
                          suggestion->found, "engine", suggestion->engine->name, "unit",
                          suggestion->unit, "path", suggestion->path, "text", suggestion->text,
                          "describedBy", suggestion->described, "reason", suggestion->why_not,
                          "pages", count_to_json(suggestion->pages)));

        return json_pack(
                "{so so so}", "suggestions", list, "lookedAt",
                VEC_TO_JSON(
                        place, &suggestions->places,
                        json_pack("{ss sI}", "place", place->title, "n", (json_int_t) place->n)),
                "passedOver",
                VEC_TO_JSON(passed, &suggestions->passed_over,
                            json_pack("{ss ss}", "name", passed->name, "reason", passed->why)));
}

int verb_suggest(Command *command) {
        Suggestions suggestions = suggestions_find(command);
        int code = command->is_writing ? write_suggestions(command, &suggestions) : EXIT_DONE;

        if (command->json != JSON_OFF)
                print_json(command, suggestions_to_json(&suggestions));
        else if (code == EXIT_DONE)
                print_suggestions(command, &suggestions);
        return code;
}
