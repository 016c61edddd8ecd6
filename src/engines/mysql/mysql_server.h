/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How a server of the MySQL family finds its settings: which option files and groups, the unit's
 * command line, and what MySQL has persisted in its data directory. */

#include "engines/mysql/mysql_options.h"

/* What the products differ in. All lists end with NULL. */
typedef struct MysqlProduct {
        const char *title;        /* also what its unit's Description= begins with */
        const char *group;        /* where settings of the server are best written: "mariadbd" */
        const char *const *units; /* looked for where the instance names none */
        const char *const *files; /* option files, in the order of reading */
        const char *const *groups;
        const char *const *versioned_groups; /* [mysqld-10.11] for "mysqld" */
        const char *const *version_files;    /* in the data directory */
        MysqlNames names;                    /* the settings that matter, and datadir and user */
        bool persists;                       /* it has mysqld-auto.cnf */
} MysqlProduct;

/* As Engine.gather, for PRODUCT. Without large_pages it gives a sentence: the pages would be
 * reserved for nobody. */
const char *mysql_server_gather(Arena *arena, const MysqlProduct *product,
                                const EngineTarget *target, const Sources *sources, Gathered *ret);
