/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How a server of the MySQL family finds its settings: which option files and groups, the unit's
 * command line, and what MySQL has persisted in its data directory. */

#include "engines/mysql/mysql_options.h"
#include "engines/mysql/mysql_units.h"

/* What the products' settings differ in. All lists end with NULL. */
typedef struct MysqlDialect {
        const MysqlProduct *product;
        const char *const *versioned_groups; /* [mysqld-10.11] for "mysqld" */
        const char *const *version_files;    /* in the data directory */
        MysqlNames names;                    /* the settings that matter, and datadir and user */
        bool persists;                       /* it has mysqld-auto.cnf */
} MysqlDialect;

/* As EngineReader.gather, in DIALECT. Without large_pages it gives a sentence: the pages would be
 * reserved for nobody. */
const char *mysql_server_gather(Arena *arena, const MysqlDialect *dialect,
                                const EngineTarget *target, const Sources *sources, Gathered *ret);
