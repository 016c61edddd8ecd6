/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What PostgreSQL's shared memory segment holds, term by term, for each major version: ipci.c of the server
 * (CalculateShmemSize() and the functions that it calls) as a table. */

#include "engines/parameters.h"

enum { POSTGRESQL_BLOCK_BYTES = 8192 };

/* The rows of the table of parameters. Values are as the server has them after it has read its files: bytes where they are
 * written in blocks or as a size, 0 where the server chooses. */
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

/* The minor version from which on a server of these values takes less, where it is not known which minor it is; else 0. */
uint64_t postgresql_undecided_minor(const ParameterValue *v);

/* Adds a step for each term: those of the version; where it is not known, of that which takes most; where it is
 * newer than the table, of the newest and a share for what may have been added. HAS_STATEMENTS: pg_stat_statements is
 * preloaded. */
void postgresql_segment_size(Arena *arena, const ParameterValue *v, bool has_statements,
                             Sizing *sizing);
