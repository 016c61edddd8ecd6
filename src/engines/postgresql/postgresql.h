/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A PostgreSQL server: its configuration files, how a unit starts the server, and the parameters of the formula. */

#include "engines/parameters.h"
#include "engines/reader.h"
#include "read/unit_file.h"

/* ---- configuration files ---- */

/* postgresql.conf, the files that it includes and postgresql.auto.conf are read by the server's own grammar.
 *
 * Source: src/backend/utils/misc/guc-file.l and, from 16 on, conffiles.c. A file with an error keeps the server from
 * starting, so it gives no size either. The database's owner writes these files, and hugeplan reads them as root: the
 * text of other settings is never passed on, nor is a value that cannot be printed. */

/* Whether the caller wants the setting NAME. */
typedef bool PostgresqlWanted(const char *name);

/* Returns NULL if VALUE is printable UTF-8 of a plausible length; else what is wrong with VALUE. */
const char *postgresql_value_fault(const char *value);

/* Returns whether VALUE (may be NULL) is an absolute path. */
bool postgresql_is_path(const char *value);

/* Reads PATH (absolute) and the files that it includes, and adds the settings that IS_WANTED accepts to *SETTINGS, in
 * the order of the lines, with "FILE:LINE" as origin. Returns NULL, or a sentence with file and line. Sets
 * *RET_UNOPENED (may be NULL) to 0, or to the negative errno if PATH itself cannot be opened; then nothing is read, and
 * that is no error. Included files that the server skips are skipped. */
const char *postgresql_conf_read(Arena *arena, const Sources *sources, const char *path,
                                 PostgresqlWanted *is_wanted, Settings *settings,
                                 int *ret_unopened);

/* ---- command lines ---- */

/* The options with which a server is, or was, started besides its files.
 *
 * Sources: PostmasterMain() (options), CreateOptsFile() (postmaster.opts) and pg_ctl's manual page. Patroni passes
 * max_connections and similar settings this way; Debian's pg_ctlcluster passes the file's name. */
typedef struct PostgresqlCommand {
        const char *program;   /* the postgres of this command line; NULL: not known */
        const char *directory; /* -D; NULL: not given */
        bool is_server;        /* the server itself is started, so it has no other options */
        Settings settings;     /* all of them, unchecked; later settings override */
} PostgresqlCommand;

/* Reads the options of PostgreSQL's programs in the ExecStart= of UNIT: of postgres and postmaster, or those that
 * pg_ctl and pg_ctlcluster pass on. */
void postgresql_command_of_unit(const UnitFile *unit, PostgresqlCommand *ret);

/* Reads the last command line from the file postmaster.opts. Returns NULL or a sentence; a missing file means that
 * there was no start. */
const char *postgresql_command_of_last_start(Arena *arena, const Sources *sources, const char *path,
                                             PostgresqlCommand *ret);

/* Adds the server's options in LINE, which is split into words like a shell's line, to COMMAND. */
void postgresql_command_add(Arena *arena, const char *line, const char *origin,
                            PostgresqlCommand *command);

/* ---- units ---- */

/* Debian's clusters. */
#define POSTGRESQL_CLUSTERS "/etc/postgresql"

typedef struct PostgresqlCluster {
        const char *version, *name, *unit;
} PostgresqlCluster;

typedef VEC(PostgresqlCluster) PostgresqlClusters;

PostgresqlClusters postgresql_clusters(Arena *arena, const Sources *sources);

/* For the reader: see EngineReader. */
void postgresql_add_units(const Engine *engine, Arena *arena, const Sources *sources,
                          SourceNames *units);
const char *postgresql_find_absent(const Engine *engine, Arena *arena, const EngineTarget *target,
                                   const Sources *sources, bool has_disks);

typedef struct PostgresqlStart {
        const UnitFile *unit;      /* NULL: none */
        const char *cluster;       /* "15/main" for Debian's units; else NULL */
        PostgresqlCommand command; /* from ExecStart= */
} PostgresqlStart;

/* Reads TARGET's unit and its command line. */
PostgresqlStart postgresql_start_read(Arena *arena, const EngineTarget *target,
                                      const Sources *sources);

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

/* ---- the formula ---- */

enum { POSTGRESQL_BLOCK_BYTES = 8192 };

/* The rows of the table of parameters. Values are as in the server after it has read its files: bytes if written in
 * blocks or as a size, 0 if the server chooses. */
enum {
        SERVER_VERSION,
        SHARED_BUFFERS,
        MAX_CONNECTIONS,
        AUTOVACUUM_MAX_WORKERS,
        AUTOVACUUM_WORKER_SLOTS,
        MAX_WORKER_PROCESSES,
        MAX_WAL_SENDERS,
        MAX_PREPARED_TRANSACTIONS,
        MAX_LOCKS_PER_TRANSACTION,
        MAX_PRED_LOCKS_PER_TRANSACTION,
        MAX_REPLICATION_SLOTS,
        MIN_DYNAMIC_SHARED_MEMORY,
        WAL_BUFFERS,
        WAL_SEGMENT_SIZE,
        TRACK_ACTIVITY_QUERY_SIZE,
        MAX_LOGICAL_REPLICATION_WORKERS,
        MAX_ACTIVE_REPLICATION_ORIGINS,
        IO_METHOD,
        IO_MAX_CONCURRENCY,
        IO_MAX_COMBINE_LIMIT,
        HOST_BASE_PAGE,
        COMMIT_TIMESTAMP_BUFFERS,
        MULTIXACT_MEMBER_BUFFERS,
        MULTIXACT_OFFSET_BUFFERS,
        NOTIFY_BUFFERS,
        SERIALIZABLE_BUFFERS,
        SUBTRANSACTION_BUFFERS,
        TRANSACTION_BUFFERS,
        SHARED_PRELOAD_LIBRARIES,
        PG_STAT_STATEMENTS_MAX,
        HUGE_PAGES,
        HUGE_PAGE_SIZE,
        SHARED_MEMORY_TYPE,
        BLOCK_SIZE,
};

enum { IO_METHOD_WORKER, IO_METHOD_SYNC, IO_METHOD_IO_URING };
enum { HUGE_PAGES_OFF, HUGE_PAGES_ON, HUGE_PAGES_TRY };
enum { SHARED_MEMORY_TYPE_MMAP, SHARED_MEMORY_TYPE_SYSV };

/* Returns the newest major version that the formula knows. */
uint64_t postgresql_newest_known(void);

/* Adds a step for each term of the version. If the version is not known, the terms are those of the version that takes
 * most; if it is newer than the table, those of the newest, and a share for additions. HAS_STATEMENTS:
 * pg_stat_statements is preloaded. */
void postgresql_segment_size(Arena *arena, const ParameterValue *v, bool has_statements,
                             Sizing *sizing);

extern const ParameterTable postgresql_parameters;

/* Returns false if a server with SETTINGS would take no pages of this size; true also if a setting is wrong, because
 * then that is not known. */
bool postgresql_takes_pages(Arena *arena, const Settings *settings, uint64_t page_size_bytes);

/* Parses a value like that of shared_buffers: "128GB", or a number of blocks. */
int postgresql_parse_blocks(const char *value, uint64_t *ret_bytes);

/* Returns whether TEXT is a version: "16", "9.6". */
bool postgresql_is_version(const char *text);

/* Returns the version in the name of a unit or in a path, the number behind the product's name:
 * "/var/lib/pgsql/16/data", "postgresql-16.service". NULL: none. */
const char *postgresql_version_in(Arena *arena, const char *text);
