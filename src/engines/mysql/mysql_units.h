/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How a unit starts a server of the MySQL family, and which option files it reads. */

#include "engines/mysql/mysql_options.h"
#include "engines/units.h"
#include "read/unit_file.h"

/* The differences between the products. All lists end with NULL. */
typedef struct MysqlProduct {
        const char *title;        /* also the beginning of its unit's Description= */
        const char *group;        /* the best group for the server's settings: "mariadbd" */
        const char *const *units; /* tried if the instance names none */
        const char *const *files; /* option files, in the order of reading */
        const char *const *groups;
        /* The packages' template, and the separator between a group's name and the instance's: "mariadb@NAME.service"
         * reads [mysqld.NAME]. */
        const char *template_prefix, *template_separator;
        const char *const *versioned_groups; /* [mysqld-10.11] for "mysqld" */
        const char *const *version_files;    /* in the data directory */
        MysqlNames names;                    /* settings of the size, and datadir and user */
        bool persists;                       /* it has mysqld-auto.cnf */
} MysqlProduct;

/* Returns the product of an engine of this family. */
const MysqlProduct *mysql_product(const Engine *engine);

/* What a unit passes to mariadbd or mysqld: the rest of its ExecStart=, also from a shell's script, as in the units of
 * MariaDB 10.11 and later. */
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
        const UnitFile *unit; /* NULL: none */
        MysqlCommand command;
        MysqlFiles files;         /* set by mysql_start_read_files() */
        const char *group_suffix; /* "": none */
        const char *user;         /* its ~/.my.cnf is read; NULL: not known */
} MysqlStart;

/* Reads TARGET's unit, or the product's if TARGET names none. The result refers to the arguments. */
MysqlStart mysql_start_read(Arena *arena, const MysqlProduct *product, const EngineTarget *target,
                            const Sources *sources);

/* Reads the option files that this server reads. Returns NULL or a sentence. */
const char *mysql_start_read_files(MysqlStart *start);
