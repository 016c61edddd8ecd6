/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/finder.h"

#include "base/text.h"
#include "engines/engine_rows.h"
#include "model/name_check.h"
#include "read/unit_file.h"

#include <string.h>

/* More than that on one host is not believed. */
enum { CANDIDATES_MAX = 256 };

/* Two traces of one database: its unit, or its data. The same path in two containers is not the same. */
static bool is_same(const Candidate *a, const Candidate *b) {
        if (a->is_elsewhere || b->is_elsewhere)
                return a->is_elsewhere && b->is_elsewhere && text_equals(a->found, b->found);
        if (a->target.unit && b->target.unit)
                return text_equals(a->target.unit, b->target.unit);
        if (a->target.data_directory && b->target.data_directory)
                return text_equals(a->target.data_directory, b->target.data_directory);
        return a->engine == b->engine && text_equals(a->name, b->name);
}

/* What was found first stands: packages tell more than processes do. */
void finder_add(Finder *finder, const Candidate *found) {
        Candidate candidate = *found;

        candidate.is_elsewhere = finder->is_elsewhere;
        if (candidate.is_elsewhere) {
                candidate.target.data_directory = NULL;
                /* A scope, as engines for containers have it, can be no Unit=. */
                if (candidate.target.unit && name_check_unit(candidate.target.unit))
                        candidate.target.unit = NULL;
        }
        if (finder->candidates.n >= CANDIDATES_MAX || name_check_instance(candidate.name) ||
            (candidate.target.unit && name_check_unit(candidate.target.unit)))
                return;
        VEC_FOREACH(other, &finder->candidates)
                if (is_same(other, &candidate)) {
                        other->peak_bytes = MAX(other->peak_bytes, candidate.peak_bytes);
                        return;
                }
        *vec_push(finder->arena, &finder->candidates) = candidate;
}

const char *finder_stem(const Finder *finder, const char *unit) {
        return arena_strndup(finder->arena, unit, strlen(unit) - strlen(".service"));
}

const char *finder_user(const Finder *finder, const RunningProcess *process) {
        return process->uid == UINT64_MAX ? NULL
                                          : arena_printf(finder->arena, "%" PRIu64, process->uid);
}

static const EngineFinder *engine_finder(const Engine *engine) {
        static const EngineFinder none = {};

#define ROW(name)                     \
        if (engine == &engine_##name) \
                return &finder_##name;
        ENGINE_FINDERS(ROW)
#undef ROW
        return &none;
}

/* The unit of that name, where it is the host's own and may be started; an alias is found under its own name. */
static const UnitFile *find_unit(const Finder *finder, const char *name) {
        const UnitFile *unit = unit_file_read(finder->arena, finder->sources, name);

        return unit->fragment_path && !unit->is_masked && text_equals(unit->name, name) ? unit
                                                                                        : NULL;
}

static void add_unit(Finder *finder, const Engine *engine, const UnitFile *unit) {
        finder_add(finder, &(Candidate){
                                   .engine = engine,
                                   .name = finder_stem(finder, unit->name),
                                   .title = engine->title,
                                   .found = unit->fragment_path,
                                   .target = {.unit = unit->name},
                           });
}

static void find_services(Finder *finder, const Engine *engine) {
        const char *patterns = engine->services, *pattern;

        while (patterns && (pattern = text_next_word(finder->arena, &patterns, " "))) {
                SourceNames units = unit_file_names(finder->arena, finder->sources, pattern);

                VEC_FOREACH(name, &units) {
                        const UnitFile *unit = find_unit(finder, *name);

                        if (unit)
                                add_unit(finder, engine, unit);
                }
        }
}

/* What the first word of a command line may be, with the server behind it. */
static const char wrappers[] =
        "numactl taskset nice ionice chrt prlimit setpriv env nohup stdbuf runuser su sudo";

/* A path further on, such as that of the data, may have the name of a server too, but not behind a program that is
 * no wrapper. */
static bool starts_server(Finder *finder, const UnitFile *unit, const Engine *engine) {
        UnitAssignments starts = unit_file_list(finder->arena, unit, "Service", "ExecStart");

        VEC_FOREACH(start, &starts) {
                const char *rest = (*start)->value + strspn((*start)->value, "-@:+!|"), *word;
                bool is_first = true, is_wrapped = false;

                while ((is_first || is_wrapped) &&
                       (word = text_next_word(finder->arena, &rest, " \t\"'"))) {
                        const char *name = text_base_name(word);

                        if ((is_first || *word == '/') && text_has_word(engine->servers, name))
                                return true;
                        is_wrapped = is_wrapped || (is_first && text_has_word(wrappers, name));
                        is_first = false;
                }
        }
        return false;
}

/* Units of any name, by what they start. */
static void find_starters(Finder *finder) {
        SourceNames units = unit_file_names(finder->arena, finder->sources, "*.service");

        VEC_FOREACH(name, &units) {
                const UnitFile *unit = find_unit(finder, *name);

                for (size_t i = 0; unit && i < n_engines; i++)
                        if (engines[i]->servers && starts_server(finder, unit, engines[i]))
                                add_unit(finder, engines[i], unit);
        }
}

/* The processes that IS_ELSEWHERE fits; what they say of files holds in their own root directory. */
static void find_running(Finder *finder, bool is_elsewhere) {
        const RunningProcesses *all = finder->processes;
        RunningProcesses some = {};

        VEC_FOREACH(process, all)
                if (process->is_elsewhere == is_elsewhere)
                        *vec_push(finder->arena, &some) = *process;
        finder->processes = &some;
        finder->is_elsewhere = is_elsewhere;
        for (size_t i = 0; i < n_engines; i++)
                if (engine_finder(engines[i])->find_running)
                        engine_finder(engines[i])->find_running(finder, engines[i]);
        finder->processes = all;
        finder->is_elsewhere = false;
}

void engines_find(Finder *finder) {
        for (size_t i = 0; i < n_engines; i++) {
                if (engine_finder(engines[i])->find_installed)
                        engine_finder(engines[i])->find_installed(finder, engines[i]);
                find_services(finder, engines[i]);
        }
        find_starters(finder);
        find_running(finder, false);
        find_running(finder, true);
        for (size_t i = 0; i < n_engines; i++)
                if (engine_finder(engines[i])->find_rest)
                        engine_finder(engines[i])->find_rest(finder, engines[i]);
}
