/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a unit passes to mariadbd or mysqld: the rest of its ExecStart=, also where that is a shell's
 * script, as in the units of MariaDB 10.11 and later. */

#include "read/unit_file.h"

typedef struct MysqlCommand {
        bool is_found;         /* false: no ExecStart= names a server */
        SourceNames arguments; /* without the program */
        const char *origin;    /* "FILE:LINE" */
} MysqlCommand;

MysqlCommand mysql_command_read(Arena *arena, const UnitFile *unit, const Sources *sources);
