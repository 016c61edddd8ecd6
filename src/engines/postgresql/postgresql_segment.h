/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What PostgreSQL's shared memory segment holds, term by term, for each major version: ipci.c of the server
 * (CalculateShmemSize() and the functions that it calls) as a table. */

#include "engines/formula.h"

enum { POSTGRESQL_BLOCK_BYTES = 8192 };

/* Settings that count, as the server has them after it has read its files; bytes where they are written in
 * blocks or as a size. */
typedef struct PostgresqlSettings {
        Version version;
        uint64_t shared_buffers_bytes;
        uint64_t max_connections, autovacuum_max_workers, autovacuum_worker_slots;
        uint64_t max_worker_processes, max_wal_senders, max_prepared_transactions;
        uint64_t max_locks_per_transaction, max_pred_locks_per_transaction;
        uint64_t max_replication_slots, max_logical_replication_workers,
                max_active_replication_origins;
        uint64_t min_dynamic_shared_memory_bytes;
        uint64_t wal_buffers_bytes; /* 0: the server chooses */
        uint64_t wal_segment_size_bytes;
        uint64_t track_activity_query_size_bytes;
        uint64_t io_max_concurrency; /* 0: the server chooses */
        uint64_t io_max_combine_limit_bytes;
        bool has_io_uring;
        uint64_t base_page_bytes; /* of the host */
        /* 0: the server chooses */
        uint64_t transaction_buffers_bytes, commit_timestamp_buffers_bytes,
                subtransaction_buffers_bytes;
        uint64_t multixact_offset_buffers_bytes, multixact_member_buffers_bytes;
        uint64_t notify_buffers_bytes, serializable_buffers_bytes;
        uint64_t pg_stat_statements_max; /* 0: not preloaded */
} PostgresqlSettings;

/* The newest major version that the table has. */
uint64_t postgresql_newest_known(void);

/* The minor version from which on a server of SETTINGS takes less, where it is not known which minor it is; else 0. */
uint64_t postgresql_undecided_minor(const PostgresqlSettings *settings);

/* Adds a step for each term: those of the version; where it is not known, of that which takes most; where it is
 * newer than the table, of the newest and a share for what may have been added. */
void postgresql_segment_size(Arena *arena, const PostgresqlSettings *settings, Sizing *sizing);
