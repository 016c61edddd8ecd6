/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/started.h"

#include "base/text.h"

#include <string.h>

/* What the first word of a command line may be, with the server behind it. */
static const char wrappers[] =
        "numactl taskset nice ionice chrt prlimit setpriv env nohup stdbuf runuser su sudo gosu chpst";
static const char shells[] = "sh bash dash ksh zsh";

/* What stands before a command in a line for a shell. */
static bool begins_command(const char *before) {
        return text_has_word("exec && || then", before) || text_ends_with(before, ";") ||
               (*before == '-' && text_ends_with(before, "c")) ||
               text_has_word(shells, text_base_name(before));
}

/* Which of NAMES the line starts; NULL. A path further on, such as that of the data, may have the name of a server too,
 * but not behind a program that is no wrapper. */
static const char *started_by_line(Arena *arena, const char *line, const char *names) {
        const char *rest = line + strspn(line, "-@:+!|"), *before = NULL, *word;
        bool is_wrapped = false, is_shell = false;

        while ((!before || is_wrapped || is_shell) &&
               (word = text_next_word(arena, &rest, " \t\"'"))) {
                const char *begin = text_base_name(word);
                const char *name = arena_strndup(arena, begin, strcspn(begin, ";&"));
                bool may_be = !before || begins_command(before) || (is_wrapped && *word == '/');

                if (may_be && text_has_word(names, name))
                        return name;
                is_wrapped = is_wrapped || (!before && text_has_word(wrappers, name));
                is_shell = is_shell || (may_be && text_has_word(shells, name));
                before = word;
        }
        return NULL;
}

const char *started_by_unit(Arena *arena, const UnitFile *unit, const char *names) {
        const UnitAssignments starts = unit_file_list(arena, unit, "Service", "ExecStart");
        const char *found = NULL;

        for (size_t i = 0; i < starts.n && names && !found; i++)
                found = started_by_line(arena, starts.items[i]->value, names);
        return found;
}
