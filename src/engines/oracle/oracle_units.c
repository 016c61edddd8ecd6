/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/oracle/oracle_units.h"

#include "base/text.h"
#include "engines/started.h"

#include <string.h>

bool oracle_unit_calls_dbstart(Arena *arena, const UnitFile *unit) {
        return started_by_unit(arena, unit, "dbstart") != NULL;
}

const char *oracle_unit_instance(Arena *arena, const char *unit) {
        const char *at = unit ? strchr(unit, '@') : NULL;
        const char *dot = at ? strrchr(at, '.') : NULL;

        return dot ? arena_strdup_to(arena, at + 1, dot) : NULL;
}

/* A listener has the same environment, and starts no instance; dbstart starts those of oratab, whatever it is told. */
static bool names_instance(Arena *arena, const Sources *sources, const UnitFile *unit,
                           const OracleInstance *instance) {
        const char *sid = unit_file_environment(arena, unit, sources, "ORACLE_SID", NULL);
        UnitAssignments commands = unit_file_list(arena, unit, "Service", "ExecStart");

        return commands.n > 0 && !oracle_unit_calls_dbstart(arena, unit) &&
               !VEC_ANY(command, &commands, strstr((*command)->value, "lsnrctl") != NULL) &&
               text_equals(sid ? sid : oracle_unit_instance(arena, unit->name), instance->sid);
}

const char *oracle_unit_of(Arena *arena, const Sources *sources, const OracleInstance *instance) {
        const SourceNames names = unit_file_names(arena, sources, "*.service");
        const char *only = NULL;
        size_t n = 0;

        VEC_FOREACH(name, &names) {
                const UnitFile *unit = unit_file_read(arena, sources, *name);

                if (!text_equals(unit->name, *name) ||
                    !names_instance(arena, sources, unit, instance))
                        continue;
                only = *name;
                n++;
        }
        return n == 1 ? only : NULL;
}
