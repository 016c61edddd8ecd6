/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/finder.h"
#include "engines/oracle/oracle_instances.h"
#include "engines/oracle/oracle_units.h"

/* Its parameter file, or where that should be: its absence is what the administrator is told. */
static const char *parameter_file(const Finder *finder, const OracleInstance *instance) {
        Arena *arena = finder->arena;
        SourceNames directories =
                oracle_parameter_directories(arena, finder->sources, instance->home, NULL);
        const char *file =
                oracle_parameter_file(arena, finder->sources, &directories, instance->sid);

        return file ? file
                    : arena_printf(arena, "%s/dbs/init%s.ora", instance->home, instance->sid);
}

/* A unit that calls dbstart starts several: it is one instance here, and the size is their sum. */
static void add_all_of(Finder *finder, const Engine *engine, const OracleInstance *first,
                       const char *unit) {
        Arena *arena = finder->arena;

        finder_add(
                finder,
                &(Candidate){
                        .engine = engine,
                        .name = arena_printf(arena, "oracle-%s", finder_stem(finder, unit)),
                        .title = arena_printf(arena, "Oracle, all instances that %s starts", unit),
                        .found = first->origin,
                        .target = {.unit = unit},
                });
}

static void add_one(Finder *finder, const Engine *engine, const OracleInstance *instance,
                    const char *unit) {
        Arena *arena = finder->arena;

        finder_add(
                finder,
                &(Candidate){
                        .engine = engine,
                        .name = arena_printf(arena, "oracle-%s", instance->sid),
                        .title = arena_printf(arena, "Oracle instance %s", instance->sid),
                        .found = instance->origin,
                        .target = {.config_file = parameter_file(finder, instance), .unit = unit},
                        .note = unit ? NULL
                                     : "Oracle ships no unit: write the service that starts it into Unit=",
                });
}

/* +ASM counts with the instances that one unit starts, not by itself. */
static void find_installed(Finder *finder, const Engine *engine) {
        const OracleInstances instances = oracle_instances_read(finder->arena, finder->sources);
        uint64_t n_started = VEC_SUM(instance, &instances,
                                     instance->is_started && !oracle_is_asm(instance->sid));

        VEC_FOREACH(instance, &instances) {
                bool starts_all;

                if (oracle_is_asm(instance->sid))
                        continue;
                const char *unit =
                        oracle_unit_of(finder->arena, finder->sources, instance, &starts_all);

                if (starts_all && n_started > 1)
                        add_all_of(finder, engine, instance, unit);
                else
                        add_one(finder, engine, instance, unit);
        }
}

const EngineFinder finder_oracle = {.find_installed = find_installed};
