/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How a unit starts a server of the MySQL family, and which option files it reads. */

#include "engines/mysql/mysql_options.h"
#include "engines/units.h"
#include "read/unit_file.h"

/* What the products differ in. All lists end with NULL. */
typedef struct MysqlProduct {
        const char *title;        /* also what its unit's Description= begins with */
        const char *group;        /* where settings of the server are best written: "mariadbd" */
        const char *const *units; /* looked for where the instance names none */
        const char *const *files; /* option files, in the order of reading */
        const char *const *groups;
        /* The packages' template, and what stands between a group's name and the instance's:
         * "mariadb@NAME.service" reads [mysqld.NAME]. */
        const char *template_prefix, *template_separator;
        const char *const *versioned_groups; /* [mysqld-10.11] for "mysqld" */
        const char *const *version_files;    /* in the data directory */
        MysqlNames names;                    /* the settings that matter, and datadir and user */
        bool persists;                       /* it has mysqld-auto.cnf */
} MysqlProduct;

/* Of either of the two. */
const MysqlProduct *mysql_product(const Engine *engine);

/* What a unit passes to mariadbd or mysqld: the rest of its ExecStart=, also where that is a shell's script, as in the
 * units of MariaDB 10.11 and later. */
typedef struct MysqlCommand {
        bool is_found;         /* false: no ExecStart= names a server */
        SourceNames arguments; /* without the program */
        const char *origin;    /* "FILE:LINE" */
} MysqlCommand;

typedef struct MysqlStart {
        Arena *arena;
        const MysqlProduct *product;
        const EngineTarget *target;
        const Sources *sources;
        const UnitFile *unit; /* NULL: there is none */
        MysqlCommand command;
        MysqlFiles files;         /* by mysql_start_read_files() */
        const char *group_suffix; /* "" for none */
        const char *user;         /* whose ~/.my.cnf is read; NULL: not known */
} MysqlStart;

/* Reads TARGET's unit, or where it names none the product's. Refers to its arguments. */
MysqlStart mysql_start_read(Arena *arena, const MysqlProduct *product, const EngineTarget *target,
                            const Sources *sources);

/* The option files that this server reads. NULL or a sentence. */
const char *mysql_start_read_files(MysqlStart *start);
