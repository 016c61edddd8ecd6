/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Unit files of packages, administrators and containers: files of a host, packed as in support/sources.h; the unit is
 * "a-b@15-main.service".
 *
 * Conditions: the function returns, assignments have a section, a place and values that are bounded and valid UTF-8, and
 * command lines are split into bounded words. */

#include "base/text.h"
#include "fuzz/fuzz.h"
#include "read/unit_file.h"
#include "support/sources.h"

FUZZ(arena, data, size) {
        const Sources *sources = test_sources_unpack(arena, data, size);
        const UnitFile *unit = unit_file_read(arena, sources, "a-b@15-main.service");
        UnitAssignments starts = unit_file_list(unit, "Service", "ExecStart");
        const UnitAssignment *last = unit_file_find(unit, "Service", "ExecStart");

        require(!unit->is_masked || unit->assignments.n == 0);
        VEC_FOREACH(assignment, &unit->assignments) {
                require(assignment->section && assignment->key && *assignment->file == '/');
                require(assignment->line > 0);
                require(strlen(assignment->value) <= 128 << 10);
        }
        require(starts.n == 0 ? !last : starts.items[starts.n - 1] == last);
        for (size_t i = 0; i < MIN(starts.n, (size_t) 8); i++) {
                SourceNames words = unit_file_command(unit, starts.items[i]->value);
                size_t bytes = 0;

                VEC_FOREACH(word, &words)
                        bytes += strlen(*word);
                require(bytes <= 128 << 10);
        }
        const char *value = unit_file_environment(unit, "PGDATA", NULL);

        require(!value || text_is_utf8(value, strlen(value)));
        SourceNames names = unit_file_names(arena, sources, "a*.service");

        for (size_t i = 1; i < names.n; i++)
                require(strcmp(names.items[i - 1], names.items[i]) < 0);
}
