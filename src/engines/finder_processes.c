/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Databases that run: processes of the servers' programs. What they say of themselves is a stranger's word. */

#include "base/text.h"
#include "engines/finder_inside.h"
#include "model/name_check.h"

#include <string.h>

/* What runs below user@.service is a user's own manager's business. */
const char *finder_service(const RunningProcess *process) {
        const char *unit = process->unit;

        return unit && !name_check_unit(unit) && !text_starts_with(unit, "user@") ? unit : NULL;
}

/* What follows an option: "-D /srv/pg", "-D/srv/pg", "--datadir=/srv"; NULL: it is not there. */
static const char *option_value(const RunningProcess *process, const char *option) {
        size_t length = strlen(option);

        for (size_t i = 1; i < process->arguments.n; i++) {
                const char *argument = process->arguments.items[i];

                if (!text_starts_with(argument, option))
                        continue;
                if (argument[length] == '\0')
                        return i + 1 < process->arguments.n ? process->arguments.items[i + 1]
                                                            : NULL;
                return argument + length + (argument[length] == '=');
        }
        return NULL;
}

/* Where it works counts first: a path on the command line may be relative, or be in a variable instead. */
const char *finder_data_directory(const RunningProcess *process, const Engine *engine) {
        const char *option = engine->data_option ? option_value(process, engine->data_option)
                                                 : NULL;

        if (!engine->data_option)
                return NULL;
        if (finder_is_path(process->directory) && !text_equals(process->directory, "/"))
                return process->directory;
        return finder_is_path(option) ? option : NULL;
}

/* The children of PostgreSQL show a title in place of their arguments ("postgres: checkpointer"), Redis one that begins
 * with its path. */
const char *finder_program(Arena *arena, const RunningProcess *process) {
        const char *line = process->arguments.n > 0 ? process->arguments.items[0] : "";
        const char *word = text_next_word(arena, &line, " ");

        return word ? text_base_name(word) : "";
}

static void add_process(Finder *finder, const Engine *engine, const RunningProcess *process,
                        const char *program) {
        const char *service = finder_service(process);
        const char *data = finder_data_directory(process, engine);
        const char *found = arena_printf(finder->arena, "process %" PRIu64, process->pid);
        Candidate candidate = {
                .engine = engine,
                .name = service ? finder_stem(finder, service) : engine->name,
                .title = engine->title,
                .found = found,
                .target = {.unit = service,
                           .data_directory = data,
                           .user = finder_user(finder, process)},
                .process = process,
        };

        if (!service && !finder->is_elsewhere)
                candidate.note = arena_printf(
                        finder->arena,
                        "No unit of the host's starts it%s%s%s, so that nothing has it wait for its "
                        "pages: have one start it, and write that into Unit=",
                        process->unit ? " (" : "", process->unit ? process->unit : "",
                        process->unit ? ")" : "");
        if (engine_finder(engine)->describe)
                engine_finder(engine)->describe(finder, &candidate, NULL, program);
        if (service || finder->is_elsewhere || (engine->reserves && data)) {
                finder_add(finder, &candidate);
                return;
        }
        finder_pass(finder, arena_printf(finder->arena, "%s (%s)", found, program),
                    engine->reserves ? "no unit starts it, and its data directory is not known"
                                     : "no unit starts it");
}

static void find_servers(Finder *finder) {
        VEC_FOREACH(process, finder->processes) {
                const char *program = finder_program(finder->arena, process);

                for (size_t i = 0; i < n_engines; i++)
                        if (engines[i]->servers && !engine_finder(engines[i])->find_running &&
                            text_has_word(engines[i]->servers, program))
                                add_process(finder, engines[i], process, program);
        }
        for (size_t i = 0; i < n_engines; i++)
                if (engine_finder(engines[i])->find_running)
                        engine_finder(engines[i])->find_running(finder, engines[i]);
}

/* The processes that IS_ELSEWHERE fits; what they say of files holds in their own root directory. */
static void find_where(Finder *finder, bool is_elsewhere) {
        const RunningProcesses *all = finder->processes;
        RunningProcesses *some = ARENA_NEW(finder->arena, RunningProcesses);

        VEC_FOREACH(process, all)
                if (process->is_elsewhere == is_elsewhere)
                        *vec_push(finder->arena, some) = *process;
        finder->processes = some;
        finder->is_elsewhere = is_elsewhere;
        find_servers(finder);
        finder->processes = all;
        finder->is_elsewhere = false;
}

void find_in_processes(Finder *finder) {
        find_where(finder, false);
        find_where(finder, true);
        finder_looked(finder, "processes", finder->processes->n);
}
