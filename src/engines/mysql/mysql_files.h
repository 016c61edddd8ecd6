/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Option files of MariaDB and MySQL: what they include, and their groups. What stands in a line is for others
 * (engines/mysql/mysql_options.h).
 *
 * Source: my_default.c of both products. */

#include "base/diag.h"
#include "read/source.h"

typedef struct MysqlOption {
        const char *group;  /* "mysqld"; NULL: from a command line */
        const char *name;   /* as it is written: "loose-innodb_buffer_pool_size" */
        const char *value;  /* NULL: there is no "=" */
        const char *origin; /* "FILE:LINE" */
} MysqlOption;

typedef VEC(MysqlOption) MysqlOptions;

typedef struct MysqlFiles {
        MysqlOptions options; /* of all groups, in the order in which the servers take them */
        SourceNames groups;   /* that have lines; one may come again */
        SourceNames paths;    /* of the files read, in that order, too */
        Diags problems;       /* files that the servers skip: not there, or not to be opened */
} MysqlFiles;

/* Takes a line that holds an option, and may write in it. */
typedef void MysqlTakeLine(Arena *arena, const char *group, char *line, const char *origin,
                           MysqlFiles *files);

/* Reads PATH (absolute) and what it includes behind what FILES has; TAKE_LINE (NULL: nobody) is given the lines. A
 * sentence with file and line where the servers would refuse the file, or it is none: binary, too large, in a
 * circle. That PATH itself cannot be opened is no error: *RET_UNOPENED says why ("is not there"), else NULL. */
const char *mysql_files_walk(Arena *arena, const Sources *sources, const char *path,
                             MysqlTakeLine *take_line, MysqlFiles *files,
                             const char **ret_unopened);
