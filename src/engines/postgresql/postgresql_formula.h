/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Shared by PostgreSQL's formula, the terms of its segment and the reader of its files. */

#include "engines/parameters.h"

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

/* Returns the newest major version that the formula knows. */
uint64_t postgresql_newest_known(void);

/* Returns the minor version from which on a server with these values takes less, if its minor version is not known;
 * else 0. */
uint64_t postgresql_undecided_minor(const ParameterValue *v);

/* Adds a step for each term of the version. If the version is not known, the terms are those of the version that takes
 * most; if it is newer than the table, those of the newest, and a share for additions. HAS_STATEMENTS:
 * pg_stat_statements is preloaded. */
void postgresql_segment_size(Arena *arena, const ParameterValue *v, bool has_statements,
                             Sizing *sizing);

extern const ParameterTable postgresql_parameters;

/* Returns false if a server with SETTINGS would take no pages of this size; true also if a setting is wrong, because
 * then that is not known. */
bool postgresql_takes_pages(Arena *arena, const Settings *settings, uint64_t page_size_bytes);

/* Returns whether the setting NAME is a number, and VALUE is more than OTHER; false if one of the values is wrong. */
bool postgresql_is_more(const char *name, const char *value, const char *other);

/* Parses a value like that of shared_buffers: "128GB", or a number of blocks. */
int postgresql_parse_blocks(const char *value, uint64_t *ret_bytes);

/* Returns whether TEXT is a version: "16", "9.6". */
bool postgresql_is_version(const char *text);

/* Returns the version in the name of a unit or in a path, the number behind the product's name:
 * "/var/lib/pgsql/16/data", "postgresql-16.service". NULL: none. */
const char *postgresql_version_in(Arena *arena, const char *text);
