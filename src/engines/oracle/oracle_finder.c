/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/finder.h"
#include "engines/oracle/oracle_instances.h"

/* +ASM counts with the instances that one unit starts, not by itself. */
static void find_installed(Finder *finder, const Engine *engine) {
        Arena *arena = finder->arena;
        const Sources *sources = finder->sources;
        OracleInstances instances = oracle_instances_read(arena, sources);
        /* By dbstart, all of them at once. */
        bool is_started = VEC_ANY(unit, &finder->candidates, unit->engine == engine);

        finder_looked(finder, "entries of oratab", instances.n);

        VEC_FOREACH(instance, &instances) {
                SourceNames directories =
                        oracle_parameter_directories(arena, sources, instance->home, NULL);

                const char *file =
                        oracle_parameter_file(arena, sources, &directories, instance->sid);

                if (oracle_is_asm(instance->sid) || (is_started && instance->is_started))
                        continue;
                if (!file) /* its absence is what the administrator is told */
                        file = arena_printf(arena, "%s/dbs/init%s.ora", instance->home,
                                            instance->sid);
                finder_add(
                        finder,
                        &(Candidate){
                                .engine = engine,
                                .name = arena_printf(arena, "oracle-%s", instance->sid),
                                .title = arena_printf(arena, "Oracle instance %s", instance->sid),
                                .found = instance->origin,
                                .target = {.config_file = file},
                                .note = "Oracle ships no unit: write the service that starts it into Unit=",
                        });
        }
}

static void describe(Finder *finder UNUSED, Candidate *candidate, const UnitFile *unit UNUSED,
                     const char *program UNUSED) {
        candidate->title = "Oracle instances that dbstart starts";
}

const EngineFinder finder_oracle = {.find_installed = find_installed, .describe = describe};
