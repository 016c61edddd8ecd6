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
        /* The packages' template, and what stands between a group's name and the instance's:
         * "mariadb@NAME.service" reads [mysqld.NAME]. */
        const char *template_prefix, *template_separator;
        MysqlNames names; /* the settings that matter, and datadir and user */
        bool persists;    /* it has mysqld-auto.cnf */
} MysqlProduct;

/* Engine.add_units: those of the template for which option files have groups. */
void mysql_server_add_units(Arena *arena, const MysqlProduct *product, const Sources *sources,
                            SourceNames *units);

/* Engine.find_absent: a server with a group of its own that no option file has, or with an option file
 * that is not there. */
const char *mysql_server_find_absent(Arena *arena, const MysqlProduct *product,
                                     const EngineTarget *target, const Sources *sources);

/* As Engine.gather, for PRODUCT. Without large_pages it gives a sentence: the pages would be
 * reserved for nobody. */
const char *mysql_server_gather(Arena *arena, const MysqlProduct *product,
                                const EngineTarget *target, const Sources *sources, Gathered *ret);
