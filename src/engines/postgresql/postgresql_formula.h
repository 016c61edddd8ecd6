/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What PostgreSQL's formula, the terms of its segment and the reader of its files share. */

#include "engines/parameters.h"

enum { POSTGRESQL_BLOCK_BYTES = 8192 };

/* The rows of the table of parameters. Values are as the server has them after it has read its files: bytes where they
 * are written in blocks or as a size, 0 where the server chooses. */
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

/* The newest major version that is known. */
uint64_t postgresql_newest_known(void);

/* The minor version from which on a server of these values takes less, where it is not known which minor it is; else 0.
  */
uint64_t postgresql_undecided_minor(const ParameterValue *v);

/* Adds a step for each term: those of the version; where it is not known, of that which takes most; where it is
 * newer than the table, of the newest and a share for what may have been added. HAS_STATEMENTS: pg_stat_statements is
 * preloaded. */
void postgresql_segment_size(Arena *arena, const ParameterValue *v, bool has_statements,
                             Sizing *sizing);

extern const ParameterTable postgresql_parameters;

/* False: with SETTINGS the server would take no pages of this size. Where one of them is wrong, that is not
 * known. */
bool postgresql_takes_pages(Arena *arena, const Settings *settings, uint64_t page_size_bytes);

/* Whether the setting NAME has a number, and VALUE is more than OTHER. Wrong values are neither. */
bool postgresql_is_more(const char *name, const char *value, const char *other);

/* As shared_buffers is written: "128GB", or a number of blocks. */
int postgresql_parse_blocks(const char *value, uint64_t *ret_bytes);

/* "16", "9.6". */
bool postgresql_is_version(const char *text);

/* The version in the name of a unit or in a path, a number behind the product's name: "/var/lib/pgsql/16/data",
 * "postgresql-16.service". NULL: there is none. */
const char *postgresql_version_in(Arena *arena, const char *text);
