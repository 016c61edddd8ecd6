/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"
#include "engines/engine_rows.h"
#include "model/name_check.h"

#include <string.h>

/* A host with more than these is not plausible. */
enum { CANDIDATES_MAX = 256, PASSED_OVER_MAX = 256, NAME_LENGTH_MAX = 64 };

/* ---- candidates ---- */

/* Whether A and B are one database: the same unit or data directory. Equal paths in two containers differ. */
static bool is_same(const Candidate *a, const Candidate *b) {
        if (a->target.unit && b->target.unit)
                return text_equals(a->target.unit, b->target.unit);
        if (a->is_elsewhere || b->is_elsewhere)
                return a->is_elsewhere && b->is_elsewhere && text_equals(a->found, b->found);
        if (a->target.data_directory && b->target.data_directory)
                return text_equals(a->target.data_directory, b->target.data_directory);
        return a->engine == b->engine && text_equals(a->name, b->name);
}

/* The first trace of a database takes precedence: units and packages say more than processes do. */
void finder_add(Finder *finder, const Candidate *found) {
        Candidate candidate = *found;

        if (candidate.is_elsewhere)
                candidate.target.data_directory = NULL;
        Candidate *known = VEC_FIND(other, &finder->candidates, is_same(other, &candidate));

        if (known) {
                if (candidate.process &&
                    (!known->process || candidate.process->peak_bytes > known->process->peak_bytes))
                        known->process = candidate.process;
                if (!known->target.unit && candidate.target.unit) {
                        known->target.unit = candidate.target.unit;
                        known->note = NULL;
                }
                known->is_elsewhere = known->is_elsewhere || candidate.is_elsewhere;
                return;
        }
        /* A valid instance name that no other candidate has. */
        char *name = arena_strndup(finder->arena, candidate.name, NAME_LENGTH_MAX - strlen("-256"));

        for (char *at = name; *at; at++)
                *at = strchr("\\/", *at) ? '-' : *at;
        candidate.name = name;
        for (unsigned i = 2;
             VEC_ANY(other, &finder->candidates, text_equals(other->name, candidate.name)); i++)
                candidate.name = arena_printf(finder->arena, "%s-%u", name, i);
        if (finder->candidates.n < CANDIDATES_MAX && !name_check_instance(candidate.name) &&
            !(candidate.target.unit && name_check_unit(candidate.target.unit)))
                *vec_push(finder->arena, &finder->candidates) = candidate;
}

void finder_pass(Finder *finder, const char *name, const char *why) {
        if (finder->passed_over.n < PASSED_OVER_MAX &&
            !VEC_ANY(other, &finder->passed_over, text_equals(other->name, name)))
                *vec_push(finder->arena, &finder->passed_over) = (PassedOver){name, why};
}

/* ---- names and paths of what was found ---- */

const char *finder_stem(const Finder *finder, const char *unit) {
        return arena_strndup(finder->arena, unit, strlen(unit) - strlen(".service"));
}

bool finder_is_path(const char *path) {
        if (!path || *path != '/' || !text_is_utf8(path, strlen(path)))
                return false;
        for (const char *at = path; *at; at++)
                if ((unsigned char) *at < ' ' || *at == 0x7f)
                        return false;
        return true;
}

/* ---- running databases: a process controls what it shows of itself, so that is not trusted ---- */

/* Units below user@.service belong to a user's own manager. */
const char *finder_service(const Process *process) {
        const char *unit = process->unit;

        return unit && !name_check_unit(unit) && !text_starts_with(unit, "user@") ? unit : NULL;
}

/* The working directory takes precedence: a path on the command line ("-D /srv/pg", "-D/srv/pg", "--datadir=/srv") may
 * be relative, or be in a variable. */
const char *finder_data_directory(const Process *process, const Engine *engine) {
        const SourceNames *arguments = &process->arguments;
        const char *option = engine->data_option;
        size_t length = option ? strlen(option) : 0;

        if (!option)
                return NULL;
        if (finder_is_path(process->directory) && !text_equals(process->directory, "/"))
                return process->directory;
        for (size_t i = 1; i < arguments->n; i++) {
                const char *argument = arguments->items[i];

                if (!text_starts_with(argument, option))
                        continue;
                argument += length + (argument[length] == '=');
                if (!arguments->items[i][length])
                        argument = i + 1 < arguments->n ? arguments->items[i + 1] : NULL;
                return finder_is_path(argument) ? argument : NULL;
        }
        return NULL;
}

/* PostgreSQL's children show a title in place of their arguments ("postgres: checkpointer"); Redis shows one that
 * begins with its path. */
const char *finder_program(Arena *arena, const Process *process) {
        const char *line = process->arguments.n > 0 ? process->arguments.items[0] : "";
        const char *word = text_next_word(arena, &line, " ");

        return word ? text_base_name(word) : "";
}

static void add_process(Finder *finder, const Engine *engine, const Process *process,
                        const char *program) {
        const char *service = finder_service(process);
        const char *found = arena_printf(finder->arena, "process %" PRIu64, process->pid);
        Candidate candidate = {
                .engine = engine,
                .name = service ? finder_stem(finder, service) : engine->name,
                .title = engine->title,
                .found = found,
                .target = {.unit = service,
                           .data_directory = finder_data_directory(process, engine),
                           /* Whatever the process claims, its files are read as its user. */
                           .user = process->uid == UINT64_MAX
                                           ? NULL
                                           : arena_printf(finder->arena, "%" PRIu64, process->uid)},
                .process = process,
                .is_elsewhere = process->is_elsewhere,
        };

        if (!service && !process->is_elsewhere)
                candidate.note = arena_printf(
                        finder->arena,
                        "It runs in no service of the host%s%s%s, so it does not wait for "
                        "its pages: start it by a service, and name that in Unit=",
                        process->unit ? " (" : "", process->unit ? process->unit : "",
                        process->unit ? ")" : "");
        if (engine_finder(engine)->describe)
                engine_finder(engine)->describe(finder, &candidate, NULL, program);
        if (service || process->is_elsewhere || engine_finder(engine)->is_named ||
            (engine->reserves && candidate.target.data_directory)) {
                finder_add(finder, &candidate);
                return;
        }
        finder_pass(finder, arena_printf(finder->arena, "%s (%s)", found, program),
                    engine->data_option
                            ? "it runs in no service, and its data directory is not known"
                            : "it runs in no service of the host's");
}

static bool is_of(Finder *finder, const Engine *engine, const Process *process,
                  const char *program) {
        const EngineFinder *own = engine_finder(engine);

        return own->is_process ? own->is_process(finder, process)
                               : engine->servers && text_has_word(engine->servers, program);
}

/* Processes in other root directories, where their paths are valid, come after the host's own. */
void find_in_processes(Finder *finder) {
        for (int is_elsewhere = 0; is_elsewhere < 2; is_elsewhere++)
                VEC_FOREACH(process, finder->processes) {
                        const char *program = finder_program(finder->arena, process);

                        for (size_t i = 0; i < n_engines; i++)
                                if (process->is_elsewhere == (is_elsewhere > 0) &&
                                    is_of(finder, engines[i], process, program))
                                        add_process(finder, engines[i], process, program);
                }
}

/* ---- engines ---- */

const EngineFinder *engine_finder(const Engine *engine) {
        static const EngineFinder none = {};

#define ROW(name)                     \
        if (engine == &engine_##name) \
                return &finder_##name;
        ENGINE_FINDERS(ROW)
#undef ROW
        return &none;
}
