/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How a unit starts its PostgreSQL. */

#include "engines/formula.h"
#include "engines/postgresql/postgresql_conf.h"
#include "engines/units.h"
#include "read/unit_file.h"

/* ---- command lines ---- */

/* Command lines of PostgreSQL: what a server is, or was, started with besides its files.
 *
 * Sources: PostmasterMain() (options), CreateOptsFile() (postmaster.opts) and pg_ctl's manual page.
 * Patroni passes max_connections and its kin this way, Debian's pg_ctlcluster the file's name. */
typedef struct PostgresqlCommand {
        const char *program;   /* the postgres of this command line; NULL: it does not tell */
        const char *directory; /* -D; NULL: not given */
        bool is_server;        /* the server itself, so that there are no options but these */
        Settings settings;     /* those of interest; later ones win */
} PostgresqlCommand;

/* What PostgreSQL's programs among the ExecStart= of UNIT are given: postgres and postmaster, or the
 * options that pg_ctl and pg_ctlcluster pass on. Returns NULL or a sentence. */
const char *postgresql_command_of_unit(Arena *arena, const UnitFile *unit, const Sources *sources,
                                       PostgresqlWanted *is_wanted, PostgresqlCommand *ret);

/* The last command line, from the file postmaster.opts. Returns NULL or a sentence; where there is no
 * such file, there was none. */
const char *postgresql_command_of_last_start(Arena *arena, const Sources *sources, const char *path,
                                             PostgresqlWanted *is_wanted, PostgresqlCommand *ret);

/* Adds the server's options in LINE, words as a shell takes them apart, to COMMAND. */
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
        const UnitFile *unit;      /* NULL: there is none */
        const char *cluster;       /* "15/main", of Debian's units; else NULL */
        PostgresqlCommand command; /* what ExecStart= gives */
} PostgresqlStart;

/* Reads TARGET's unit, and of its command line the settings that IS_WANTED takes. Returns NULL or a sentence. */
const char *postgresql_start_read(Arena *arena, const EngineTarget *target, const Sources *sources,
                                  PostgresqlWanted *is_wanted, PostgresqlStart *ret);

/* The data directory: as TARGET says, as -D says, OTHERWISE (NULL: that is not known), or as PGDATA says; NULL:
 * none of them does. */
const char *postgresql_start_directory(Arena *arena, const EngineTarget *target,
                                       const Sources *sources, const PostgresqlStart *start,
                                       const char *otherwise);

/* Where Patroni has its server: "postgresql:" of its file, and the environment, which wins.
 *
 * Sources: Patroni's documentation, "YAML Configuration Settings" and "Environment Configuration Settings"; YAML 1.2,
 * block mappings. */

typedef struct PostgresqlPatroni {
        const char *data_directory;   /* NULL: not known */
        const char *config_directory; /* NULL: the same */
        const char *programs;         /* the directory of postgres; NULL: not known */
} PostgresqlPatroni;

/* Of a unit that starts anything else nothing is found. Returns NULL, or a sentence on why its data directory is not
 * known. */
const char *postgresql_patroni_of_unit(Arena *arena, const UnitFile *unit, const Sources *sources,
                                       PostgresqlPatroni *ret);
