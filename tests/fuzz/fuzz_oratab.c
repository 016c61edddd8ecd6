/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The files that name Oracle's instances: oratab, orabasetab, and names of parameter files; packed as in
 * support/sources.h.
 *
 * Conditions: each SID is valid, cannot change the directory of a path, and is found once; homes are absolute; a
 * parameter file is in one of the named directories. */

#include "engines/oracle/oracle.h"
#include "fuzz/fuzz.h"
#include "support/sources.h"

static void check_directories(Arena *arena, const Sources *sources, const char *home,
                              const char *base, const char *sid) {
        const SourceNames directories = oracle_parameter_directories(arena, sources, home, base);
        const char *file = oracle_parameter_file(arena, sources, &directories, sid);
        const char *only = oracle_only_sid(arena, sources, &directories);
        bool is_below = false;

        require(directories.n >= 1 && directories.n <= 2);
        VEC_FOREACH(directory, &directories) {
                require(**directory == '/' && text_ends_with(*directory, "/dbs"));
                is_below = is_below || (file && text_starts_with(file, *directory));
        }
        require(!file || is_below);
        require(!only || oracle_sid_is_valid(only));
}

FUZZ(arena, data, size) {
        const Sources *sources = test_sources_unpack(arena, data, size);
        const OracleInstances instances = oracle_instances_read(arena, sources);

        for (size_t i = 0; i < MIN(instances.n, (size_t) 8); i++) {
                const OracleInstance *instance = &instances.items[i];
                const char *sid = instance->sid;

                require(oracle_sid_is_valid(sid) && !strpbrk(sid, "/.:") &&
                        *instance->origin == '/');
                require(*instance->home == '/');
                require_printable(instance->home);
                require(!text_ends_with(instance->home, "/") || text_equals(instance->home, "/"));
                require(oracle_instances_find(&instances, sid) == instance);
                require(text_equals(
                        oracle_sid_of_file(arena, arena_printf(arena, "/dbs/init%s.ora", sid)),
                        sid));
                check_directories(arena, sources, instance->home, NULL, sid);
                check_directories(arena, sources, instance->home, "/u01/base", sid);
        }
}
