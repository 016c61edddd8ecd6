/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How a unit starts PostgreSQL. */

#include "engines/formula.h"
#include "engines/postgresql/postgresql_conf.h"
#include "engines/units.h"
#include "read/unit_file.h"

/* ---- command lines ---- */

/* Command lines of PostgreSQL: the options with which a server is, or was, started besides its files.
 *
 * Sources: PostmasterMain() (options), CreateOptsFile() (postmaster.opts) and pg_ctl's manual page. Patroni passes
 * max_connections and similar settings this way; Debian's pg_ctlcluster passes the file's name. */
typedef struct PostgresqlCommand {
        const char *program;   /* the postgres of this command line; NULL: not known */
        const char *directory; /* -D; NULL: not given */
        bool is_server;        /* the server itself is started, so it has no other options */
        Settings settings;     /* the wanted ones; later settings override */
} PostgresqlCommand;

/* Reads the options of PostgreSQL's programs in the ExecStart= of UNIT: of postgres and postmaster, or those that
 * pg_ctl and pg_ctlcluster pass on. Returns NULL or a sentence. */
const char *postgresql_command_of_unit(const UnitFile *unit, PostgresqlWanted *is_wanted,
                                       PostgresqlCommand *ret);

/* Reads the last command line from the file postmaster.opts. Returns NULL or a sentence; a missing file means that
 * there was no start. */
const char *postgresql_command_of_last_start(Arena *arena, const Sources *sources, const char *path,
                                             PostgresqlWanted *is_wanted, PostgresqlCommand *ret);

/* Adds the server's options in LINE, which is split into words like a shell's line, to COMMAND. */
const char *postgresql_command_add(Arena *arena, const char *line, const char *origin,
                                   PostgresqlWanted *is_wanted, PostgresqlCommand *command);

/* ---- units ---- */

/* Debian's clusters. */
#define POSTGRESQL_CLUSTERS "/etc/postgresql"

typedef struct PostgresqlCluster {
        const char *version, *name, *unit;
} PostgresqlCluster;

typedef VEC(PostgresqlCluster) PostgresqlClusters;

PostgresqlClusters postgresql_clusters(Arena *arena, const Sources *sources);

typedef struct PostgresqlStart {
        const UnitFile *unit;      /* NULL: none */
        const char *cluster;       /* "15/main" for Debian's units; else NULL */
        PostgresqlCommand command; /* from ExecStart= */
} PostgresqlStart;

/* Reads TARGET's unit, and from its command line the settings that IS_WANTED accepts. Returns NULL or a sentence. */
const char *postgresql_start_read(Arena *arena, const EngineTarget *target, const Sources *sources,
                                  PostgresqlWanted *is_wanted, PostgresqlStart *ret);

/* Returns the data directory: TARGET's, that of -D, OTHERWISE (NULL: not known), or PGDATA; NULL if none of them is
 * known. */
const char *postgresql_start_directory(Arena *arena, const EngineTarget *target,
                                       const PostgresqlStart *start, const char *otherwise);

/* Where Patroni's server is: from "postgresql:" of Patroni's file, and the environment, which overrides the file.
 *
 * Sources: Patroni's documentation, "YAML Configuration Settings" and "Environment Configuration Settings"; YAML 1.2,
 * block mappings. */

typedef struct PostgresqlPatroni {
        const char *data_directory;   /* NULL: not known */
        const char *config_directory; /* NULL: the data directory */
        const char *programs;         /* the directory of postgres; NULL: not known */
} PostgresqlPatroni;

/* Leaves *RET as it is if UNIT does not start Patroni. Returns NULL, or a sentence that says why its data directory is
 * not known. */
const char *postgresql_patroni_of_unit(const UnitFile *unit, PostgresqlPatroni *ret);
