/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"

#include "engines/oracle/oracle.h"

#include <string.h>

/* Instances that a unit starts by dbstart were found together with that unit; +ASM is sized there, not by itself. */
static void find_installed(Finder *finder, const Engine *engine) {
        Arena *arena = finder->arena;
        const OracleInstances instances = oracle_instances_read(arena, finder->sources);
        bool is_started = VEC_ANY(unit, &finder->candidates, unit->engine == engine);

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

/* Returns the SID of an instance's process monitor, "ora_pmon_SID"; "": another process. */
static const char *monitored_sid(const Process *process) {
        static const char monitor[] = "ora_pmon_";
        const char *title = process->arguments.n > 0 ? process->arguments.items[0] : "";

        return text_starts_with(title, monitor) ? title + strlen(monitor) : "";
}

static bool is_process(Finder *finder, const Process *process) {
        Arena *arena = finder->arena;
        const char *sid = monitored_sid(process), *name = arena_printf(arena, "oracle-%s", sid);

        if (!oracle_sid_is_valid(sid))
                return false;
        OracleInstances instances = oracle_instances_read(arena, finder->sources);
        const OracleInstance *known = oracle_instances_find(&instances, sid);

        /* dbstart starts some together with others, and then no candidate is named after them. */
        return !known || !known->is_started ||
               VEC_ANY(candidate, &finder->candidates, text_equals(candidate->name, name));
}

/* The monitor works in ORACLE_HOME/dbs. */
static void describe(Finder *finder, Candidate *candidate, const UnitFile *unit,
                     const char *program UNUSED) {
        const Process *process = candidate->process;

        candidate->title = "Oracle instances that dbstart starts";
        if (unit)
                return;
        candidate->name = arena_printf(finder->arena, "oracle-%s", monitored_sid(process));
        candidate->title =
                arena_printf(finder->arena, "Oracle instance %s", monitored_sid(process));
        if (finder_is_path(process->directory))
                candidate->target.data_directory = process->directory;
}

const EngineFinder finder_oracle = {
        .find_installed = find_installed,
        .is_process = is_process,
        .is_named = true,
        .describe = describe,
};
