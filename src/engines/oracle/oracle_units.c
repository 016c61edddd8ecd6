/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/oracle/oracle_units.h"

#include "base/text.h"

#include <string.h>

/* Whether WORD calls dbstart, be it within a line for a shell. */
static bool calls_dbstart(const char *word) {
        static const char name[] = "dbstart";

        for (const char *at = word; (at = strstr(at, name)); at++) {
                bool begins = at == word || strchr("/ \t;&", at[-1]);

                if (begins && strchr(" \t;&'\"", at[strlen(name)]))
                        return true;
        }
        return false;
}

bool oracle_unit_calls_dbstart(Arena *arena, const Sources *sources, const UnitFile *unit) {
        UnitAssignments commands = unit_file_list(arena, unit, "Service", "ExecStart");

        VEC_FOREACH(command, &commands) {
                UnitWords words = unit_file_command(arena, unit, sources, (*command)->value);

                if (VEC_ANY(word, &words, calls_dbstart(*word)))
                        return true;
        }
        return false;
}

const char *oracle_unit_instance(Arena *arena, const char *unit) {
        const char *at = unit ? strchr(unit, '@') : NULL;
        const char *dot = at ? strrchr(at, '.') : NULL;

        return dot ? arena_strndup(arena, at + 1, (size_t) (dot - at - 1)) : NULL;
}

/* 2: it names the instance; 1: it starts all that are marked; 0: it has nothing to do with it. A listener has the
 * same environment, and starts no instance. */
static int likeness(Arena *arena, const Sources *sources, const UnitFile *unit,
                    const OracleInstance *instance) {
        const char *sid = unit_file_environment(arena, unit, sources, "ORACLE_SID", NULL);
        UnitAssignments commands = unit_file_list(arena, unit, "Service", "ExecStart");

        if (commands.n == 0 ||
            VEC_ANY(command, &commands, strstr((*command)->value, "lsnrctl") != NULL))
                return 0;
        if (oracle_unit_calls_dbstart(arena, sources, unit))
                return instance->is_started;
        return text_equals(sid, instance->sid) ||
                               (!sid &&
                                text_equals(oracle_unit_instance(arena, unit->name), instance->sid))
                       ? 2
                       : 0;
}

const char *oracle_unit_of(Arena *arena, const Sources *sources, const OracleInstance *instance,
                           bool *ret_starts_all) {
        const SourceNames names = unit_file_names(arena, sources, "*.service");
        const char *best = NULL;
        int best_likeness = 0;

        VEC_FOREACH(name, &names) {
                const UnitFile *unit = unit_file_read(arena, sources, *name);
                int is = text_equals(unit->name, *name) ? likeness(arena, sources, unit, instance)
                                                        : 0;

                if (is > 0 && is >= best_likeness)
                        best = is == best_likeness ? NULL : *name;
                best_likeness = is > best_likeness ? is : best_likeness;
        }
        *ret_starts_all = best && best_likeness == 1;
        return best;
}
