/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One configuration file split into assignments, the first half of reading configuration: the parser knows lines,
 * sections and equals signs, but no keys. */

#include "config/config.h"

typedef struct Assignment {
        const char *section;
        const char *key;
        const char *value; /* "" resets */
        unsigned line;
} Assignment;

typedef struct ParsedFile {
        const ConfigFile *file;
        VEC(Assignment) assignments; /* also those after a mistake, so that Unit= can be found */
        bool has_host;               /* a [Host] section was seen */
        bool has_instance;           /* an [Instance] section was seen */
        bool is_empty;               /* no section and no assignment: the file masks another */
        const Diag *refusal;         /* the first mistake; NULL: none so far */
} ParsedFile;

/* Splits FILE into assignments; every mistake is added to PROBLEMS, and the first one is also kept in `refusal`. */
ParsedFile *config_file_parse(Arena *arena, const ConfigFile *file, Diags *problems);

/* Adds an error to PROBLEMS and keeps it as the file's refusal if it is the first. LINE may be 0, KEY NULL. */
void config_file_refuse(ParsedFile *parsed, Diags *problems, ProblemKind kind, unsigned line,
                        const char *key, const char *text, const char *remedy);
