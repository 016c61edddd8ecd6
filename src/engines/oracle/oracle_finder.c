/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"

#include "engines/oracle/oracle.h"

#include <string.h>

/* Instances that a unit starts by dbstart were found together with that unit; +ASM is sized there, not by itself. */
static void find_installed(Finder *finder, const Engine *engine) {
        Arena *arena = finder->arena;
        const OracleInstances instances = oracle_instances_read(arena, finder->sources);
        bool is_started = VEC_ANY(unit, &finder->candidates, unit->engine == engine);

        finder_looked(finder, "entries of oratab", instances.n);
        VEC_FOREACH(instance, &instances) {
                if (oracle_is_asm(instance->sid) || (is_started && instance->is_started))
                        continue;
                const char *unit = oracle_unit_of(arena, finder->sources, instance);
                SourceNames directories =
                        oracle_parameter_directories(arena, finder->sources, instance->home, NULL);
                const char *file =
                        oracle_parameter_file(arena, finder->sources, &directories, instance->sid);

                if (!file) /* the expected path, so that the administrator learns that it is missing */
                        file = arena_printf(arena, "%s/dbs/init%s.ora", instance->home,
                                            instance->sid);
                finder_add(
                        finder,
                        &(Candidate){
                                .engine = engine,
                                .name = arena_printf(arena, "oracle-%s", instance->sid),
                                .title = arena_printf(arena, "Oracle instance %s", instance->sid),
                                .found = instance->origin,
                                .target = {.config_file = file, .unit = unit},
                                .note = unit ? NULL
                                             : "Oracle ships no unit: name the service that starts it in Unit=",
                        });
        }
}

/* An instance's process monitor, "ora_pmon_SID", works in ORACLE_HOME/dbs. */
static void find_running(Finder *finder, const Engine *engine) {
        static const char monitor[] = "ora_pmon_";
        Arena *arena = finder->arena;
        OracleInstances instances = oracle_instances_read(arena, finder->sources);

        VEC_FOREACH(process, finder->processes) {
                const char *title = process->arguments.n > 0 ? process->arguments.items[0] : "";
                const char *sid = text_starts_with(title, monitor) ? title + strlen(monitor) : "";

                if (!oracle_sid_is_valid(sid))
                        continue;
                const OracleInstance *known = oracle_instances_find(&instances, sid);
                const char *name = arena_printf(arena, "oracle-%s", sid);

                /* dbstart starts some together with others, and then no candidate is named after them. */
                if (known && known->is_started &&
                    !VEC_ANY(candidate, &finder->candidates, text_equals(candidate->name, name)))
                        continue;
                finder_add(
                        finder,
                        &(Candidate){
                                .engine = engine,
                                .name = name,
                                .title = arena_printf(arena, "Oracle instance %s", sid),
                                .found = arena_printf(arena, "process %" PRIu64, process->pid),
                                .target = {.unit = finder_service(process),
                                           .data_directory = finder_is_path(process->directory)
                                                                     ? process->directory
                                                                     : NULL,
                                           .user = finder_user(finder, process)},
                                .note = finder_service(process)
                                                ? NULL
                                                : "It runs in no service of the host: name the service that will "
                                                  "start it in Unit=",
                                .process = process,
                        });
        }
}

static void describe(Finder *finder UNUSED, Candidate *candidate, const UnitFile *unit UNUSED,
                     const char *program UNUSED) {
        candidate->title = "Oracle instances that dbstart starts";
}

const EngineFinder finder_oracle = {
        .find_installed = find_installed,
        .find_running = find_running,
        .describe = describe,
};
