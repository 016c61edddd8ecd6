/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The size of PostgreSQL's segment as the server computes it before mapping it: sums of arrays, and hash tables whose
 * directories are powers of two. The terms follow the sources named beside them (13.16, 15.18, 17.11 and 18.6 were
 * read); the sizes of structures were measured on servers 9.6 to 18, amd64, as differences of what they map for
 * settings that differ in one thing, and rounded up. Over random settings of each version the server took at most 16
 * KiB less than this formula gives, and never more (tests/sizes); beyond 300 server processes of 18 up to half a KiB
 * less for each, see io_bytes(). */

#include "engines/postgresql/postgresql.h"

/* One major version. Each field has the bytes for one of the things that it is named after. */
typedef struct Release {
        uint64_t major;
        uint32_t fixed;
        /* PGPROC with its semaphore, serializable transactions and conflicts, subtransactions of the
         * ProcArray, status, latches, with TLS and GSSAPI compiled in. */
        uint32_t process;
        uint32_t prepared;       /* `process` without status, and GlobalTransactionData */
        uint32_t worker;         /* BackgroundWorkerSlot */
        uint32_t sender;         /* WalSnd */
        uint32_t slot;           /* ReplicationSlot and, up to 17, its origin's ReplicationState */
        uint32_t origin;         /* ReplicationState, from 18 on */
        uint32_t logical_worker; /* LogicalRepWorker */
        uint32_t autovacuum_worker; /* WorkerInfoData */
        uint32_t buffer;    /* BufferDescPadded, its lock or condition variable, CkptSortItem */
        uint32_t request;   /* CheckpointerRequest */
        uint32_t statement; /* pgssEntry of pg_stat_statements */
        /* Processes that MaxBackends counts besides connections, workers and senders; and further processes that have a
         * text in pg_stat_activity. */
        uint8_t others, auxiliary;
        /* false: 9.6, 10 and 11 take WAL senders from the connections. */
        bool has_own_senders;
        uint8_t capped_since; /* first minor version whose queue has at most QUEUE_MAX entries */
} Release;

enum {
        QUEUE_MAX = 10 * 1000 * 1000, /* MAX_CHECKPOINT_REQUESTS: 80GB of buffers */
        NEVER = UINT8_MAX,
};

/* 9.4 and 9.5 could not be measured: 9.6 stands for them, with their two locks of 32 bytes for each buffer. */
static const Release releases[] = {
        {9, 891 * KIB, 5610, 5045, 384, 160, 312, 0, 0, 60, 64 + 64 + 20, 20, 200, 1, 0, false,
         NEVER},
        {10, 903 * KIB, 6060, 5360, 368, 160, 304, 0, 112, 64, 64 + 32 + 20, 20, 200, 1, 7, false,
         NEVER},
        {11, 906 * KIB, 6090, 5390, 564, 160, 304, 0, 112, 64, 64 + 32 + 20, 20, 200, 1, 7, false,
         NEVER},
        {12, 905 * KIB, 6470, 5550, 564, 112, 304, 0, 112, 64, 64 + 32 + 20, 24, 200, 1, 7, true,
         NEVER},
        {13, 905 * KIB, 6500, 5560, 564, 112, 312, 0, 112, 80, 64 + 32 + 20, 24, 272, 1, 7, true,
         22},
        {14, 907 * KIB, 6540, 5580, 568, 112, 328, 0, 112, 88, 64 + 16 + 20, 24, 280, 1, 8, true,
         19},
        {15, 1163 * KIB, 6540, 5580, 568, 112, 328, 0, 120, 88, 64 + 16 + 20, 24, 360, 1, 6, true,
         14},
        {16, 1180 * KIB, 6550, 5580, 568, 112, 328, 0, 128, 88, 64 + 16 + 20, 24, 360, 1, 6, true,
         10},
        {17, 566 * KIB, 6560, 5580, 1496, 112, 336, 0, 136, 88, 64 + 16 + 20, 32, 408, 2, 6, true,
         6},
        {18, 688 * KIB, 6880, 5530, 1488, 112, 296, 64, 144, 88, 64 + 16 + 20, 32, 432, 2, 38, true,
         0},
};

enum {
        SLRU_BANK_SLOTS = 16,
        BUFFER_PARTITIONS = 128,
        CLOG_SLOTS_MAX = 65536, /* CLOG_MAX_ALLOWED_BUFFERS: all possible transactions */
        /* From this version on SLRU buffers are settings, and grow with shared_buffers. */
        SLRU_SETTINGS_SINCE = 17,
        IO_HANDLES_SINCE = 18,
        IO_HANDLES_MAX = 64,
        IO_WORKERS_MAX = 32,    /* among the auxiliary processes */
        IO_CONTEXT_BYTES = 256, /* PgAioUringContext */
        FAST_PATH_SLOTS = 16,
        FAST_PATH_GROUPS_MAX = 1024,
        /* For additions of a newer version: 18 took up to 5 % more than 17 at 128MB, 0.6 % at 1GB. */
        NEWER_SHARE = 32,
};

/* The inputs of a term. */
typedef struct Segment {
        const Release *release;
        const ParameterValue *v;
        Version version;
        bool has_statements;
        uint64_t buffers;   /* NBuffers */
        uint64_t processes; /* MaxBackends */
        uint64_t lockers;   /* and prepared transactions: all that can hold locks */
        uint64_t statuses;  /* and auxiliary processes: each has a text, and in 18 an I/O context */
} Segment;

/* The terms; those of 0 bytes are left out of a derivation. */
typedef struct Terms {
        SizingStep items[15];
} Terms;

/* hash_estimate_size() of dynahash.c: a directory and segments of 256 buckets, both in powers of two, and the elements
 * in groups that fill a power of two. */
static uint64_t hash_table_bytes(uint64_t n, uint64_t entry_bytes) {
        uint64_t segments = div_round_up(power_of_two_from(n), 256);
        uint64_t element_bytes = 16 + round_up_saturated(entry_bytes, 8);
        uint64_t group = MAX(power_of_two_from(32 * element_bytes), UINT64_C(256)) / element_bytes;

        return add_saturated(
                376 + MAX(segments, UINT64_C(256)) * 8,
                add_saturated(mul_saturated(segments, 2048),
                              mul_saturated(round_up_saturated(n, group), element_bytes)));
}

/* SimpleLruShmemSize() of slru.c: pages, and for each page its place, state, number, age and lock; from 17 on a lock
 * for each 16 pages. */
static uint64_t slru_bytes(uint64_t slots, bool has_lsns) {
        uint64_t slot_bytes = POSTGRESQL_BLOCK_BYTES + 162;

        /* One LSN for each 32 of the 32,768 transactions of a page: CLOG_LSNS_PER_PAGE. */
        return add_saturated(256, mul_saturated(slots, slot_bytes + (has_lsns ? 8192 : 0)));
}

/* As set; if the server chooses, 1/512 of the buffers in whole banks, 16 to 1024 (SimpleLruAutotuneBuffers()). */
static uint64_t tuned_slots(const Segment *s, uint64_t bytes) {
        uint64_t tuned = s->buffers / 512 / SLRU_BANK_SLOTS * SLRU_BANK_SLOTS;

        if (bytes > 0)
                return MAX(bytes / POSTGRESQL_BLOCK_BYTES, (uint64_t) SLRU_BANK_SLOTS);
        return MIN(MAX(tuned, (uint64_t) SLRU_BANK_SLOTS), UINT64_C(1024));
}

/* Up to 16 as in CLOGShmemBuffers() and CommitTsShmemBuffers(); other SLRUs have a fixed size there. */
static uint64_t slrus_bytes(const Segment *s) {
        const ParameterValue *v = s->v;

        if (s->release->major < SLRU_SETTINGS_SINCE) {
                uint64_t clog = MIN(MAX(s->buffers / 512, UINT64_C(4)), UINT64_C(128));
                uint64_t commit_ts =
                        s->release->major >= 15
                                ? MIN(MAX(s->buffers / 256, UINT64_C(4)), UINT64_C(256))
                                : MIN(MAX(s->buffers / 1024, UINT64_C(4)), UINT64_C(16));

                return add_saturated(slru_bytes(clog, true), slru_bytes(commit_ts, false));
        }
        const uint64_t slots[] = {
                tuned_slots(s, v[COMMIT_TIMESTAMP_BUFFERS].number),
                tuned_slots(s, v[SUBTRANSACTION_BUFFERS].number),
                v[MULTIXACT_OFFSET_BUFFERS].number / POSTGRESQL_BLOCK_BYTES,
                v[MULTIXACT_MEMBER_BUFFERS].number / POSTGRESQL_BLOCK_BYTES,
                v[NOTIFY_BUFFERS].number / POSTGRESQL_BLOCK_BYTES,
                v[SERIALIZABLE_BUFFERS].number / POSTGRESQL_BLOCK_BYTES,
        };
        uint64_t transactions =
                MIN(tuned_slots(s, v[TRANSACTION_BUFFERS].number), (uint64_t) CLOG_SLOTS_MAX);

        return add_saturated(slru_bytes(transactions, true),
                             ARRAY_SUM(n, slots, ARRAY_LEN(slots), slru_bytes(*n, false)));
}

/* XLOGChooseNumBuffers() and XLOGShmemSize(): a position for each page. */
static uint64_t wal_bytes(const Segment *s) {
        uint64_t pages = s->v[WAL_BUFFERS].number / POSTGRESQL_BLOCK_BYTES;
        uint64_t segment = s->v[WAL_SEGMENT_SIZE].number / POSTGRESQL_BLOCK_BYTES;

        if (pages == 0)
                pages = MAX(MIN(s->buffers / 32, segment), UINT64_C(8));
        return mul_saturated(MAX(pages, UINT64_C(4)), POSTGRESQL_BLOCK_BYTES + 8);
}

/* Two tables, the second with twice as many entries, and 10 % for safety. */
static uint64_t lock_tables_bytes(const Segment *s, uint64_t per_transaction, uint64_t first_bytes,
                                  uint64_t second_bytes) {
        uint64_t n = mul_saturated(per_transaction, s->lockers);
        uint64_t bytes = add_saturated(hash_table_bytes(n, first_bytes),
                                       hash_table_bytes(mul_saturated(n, 2), second_bytes));

        return add_saturated(bytes, bytes / 10);
}

/* LockShmemSize() with LOCK and PROCLOCK; in 18 FastPathLockShmemSize() with a bit field and 16 tables per group. */
static uint64_t locks_bytes(const Segment *s) {
        uint64_t locks = s->v[MAX_LOCKS_PER_TRANSACTION].number, groups;
        uint64_t bytes = lock_tables_bytes(s, locks, 152, 64);

        if (s->release->major < 18)
                return bytes;
        groups = MAX(
                MIN(power_of_two_from(locks) / FAST_PATH_SLOTS, (uint64_t) FAST_PATH_GROUPS_MAX),
                UINT64_C(1));
        return add_saturated(
                bytes,
                mul_saturated(add_saturated(s->statuses, s->v[MAX_PREPARED_TRANSACTIONS].number),
                              groups * (8 + 4 * FAST_PATH_SLOTS)));
}

/* AioShmemSize(): io_max_concurrency handles for each process, each with a vector (16 bytes) and data (8 bytes) for
 * each block of a combined read. If the server chooses the number (AioChooseMaxConcurrency()), it is the number of
 * buffers that a process may pin, so all processes together have at most as many handles as there are buffers.
 *
 * With io_method=io_uring, on kernels from 6.5 on: a ring for each process except the I/O workers, which do not exist
 * then. Submissions and completions (with indexes and a header) have separate pages; see pgaio_uring_ring_shmem_size()
 * and io_uring_memory_size_params() of liburing. */
static uint64_t io_bytes(const Segment *s) {
        uint64_t set = s->v[IO_MAX_CONCURRENCY].number, each = set > 0 ? set : IO_HANDLES_MAX;
        uint64_t blocks = s->v[IO_MAX_COMBINE_LIMIT].number / POSTGRESQL_BLOCK_BYTES;
        uint64_t handles = mul_saturated(s->statuses, each), page = s->v[HOST_BASE_PAGE].number;

        if (s->release->major < IO_HANDLES_SINCE)
                return 0;
        if (set == 0)
                handles = MIN(handles, MAX(s->buffers, s->statuses));
        uint64_t bytes = mul_saturated(handles, add_saturated(144, mul_saturated(24, blocks)));

        if (s->v[IO_METHOD].number != IO_METHOD_IO_URING)
                return bytes;
        uint64_t entries = power_of_two_from(each);
        uint64_t submissions = round_up_saturated(mul_saturated(entries, 64), page);
        uint64_t completions =
                round_up_saturated(add_saturated(mul_saturated(entries, 36), 512), page);
        uint64_t rings = mul_saturated(
                s->statuses - IO_WORKERS_MAX,
                add_saturated(IO_CONTEXT_BYTES, add_saturated(submissions, completions)));

        return add_saturated(bytes, add_saturated(rings, 2 * page));
}

/* In the order of the derivation. */
static Terms terms_of(const Segment *s) {
        const Release *r = s->release;
        const ParameterValue *v = s->v;

        uint64_t statements = s->has_statements ? v[PG_STAT_STATEMENTS_MAX].number : 0;
        const uint64_t slots[][2] = {
                {v[MAX_PREPARED_TRANSACTIONS].number, r->prepared},
                {v[MAX_WORKER_PROCESSES].number, r->worker},
                {v[MAX_WAL_SENDERS].number, r->sender},
                {v[MAX_REPLICATION_SLOTS].number, r->slot},
                {v[MAX_ACTIVE_REPLICATION_ORIGINS].number, r->origin},
                {v[MAX_LOGICAL_REPLICATION_WORKERS].number, r->logical_worker},
                {v[AUTOVACUUM_MAX_WORKERS].number, r->autovacuum_worker},
        };
        /* CheckpointerShmemSize(): minor versions of 13 to 17 introduced the cap. */
        bool is_capped = r->capped_since == 0 ||
                         (r->capped_since != NEVER && s->version.n_known >= 2 &&
                          s->version.numbers[1] >= r->capped_since);
        uint64_t queue = is_capped ? MIN(s->buffers, (uint64_t) QUEUE_MAX) : s->buffers;

        return (Terms){{
                {"shared_buffers", NULL, v[SHARED_BUFFERS].number},
                {"buffer descriptors", "for each buffer of 8K",
                 mul_saturated(s->buffers, r->buffer)},
                {"buffer table", "a hash table of all buffers",
                 hash_table_bytes(add_saturated(s->buffers, BUFFER_PARTITIONS), 24)},
                {"checkpointer's queue",
                 is_capped ? "an entry for each buffer, ten million at most"
                           : "an entry for each buffer",
                 mul_saturated(queue, r->request)},
                {"SLRU buffers", "by shared_buffers, or as set", slrus_bytes(s)},
                {"WAL buffers", "wal_buffers, or 1/32 of shared_buffers up to a WAL segment",
                 wal_bytes(s)},
                /* SERIALIZABLEXID: ten for each of the lockers. */
                {"server processes", "for each of max_connections, workers and WAL senders",
                 add_saturated(hash_table_bytes(mul_saturated(s->lockers, 10), 16),
                               mul_saturated(s->processes, r->process))},
                {"locks", "max_locks_per_transaction for each of them", locks_bytes(s)},
                /* PredicateLockShmemSize() with PREDICATELOCKTARGET and PREDICATELOCK. */
                {"predicate locks", "max_pred_locks_per_transaction for each of them",
                 lock_tables_bytes(s, v[MAX_PRED_LOCKS_PER_TRANSACTION].number, 32, 56)},
                {"query texts", "track_activity_query_size for each of them",
                 mul_saturated(s->statuses, v[TRACK_ACTIVITY_QUERY_SIZE].number)},
                {"slots", "for prepared transactions, workers, WAL senders and replication",
                 ARRAY_SUM(slot, slots, ARRAY_LEN(slots), mul_saturated((*slot)[0], (*slot)[1]))},
                {"min_dynamic_shared_memory", NULL, v[MIN_DYNAMIC_SHARED_MEMORY].number},
                {"asynchronous I/O", "io_max_concurrency handles for each process", io_bytes(s)},
                {"pg_stat_statements", "a hash table of pg_stat_statements.max",
                 statements > 0 ? add_saturated(hash_table_bytes(statements, r->statement), 8 * KIB)
                                : 0},
                {"fixed part", "the rest, as measured", r->fixed},
        }};
}

static Segment segment_of(const Release *release, const ParameterValue *v, bool has_statements) {
        Segment s = {
                .release = release,
                .v = v,
                .version = parameters_version(v),
                .has_statements = has_statements,
                .buffers = v[SHARED_BUFFERS].number / POSTGRESQL_BLOCK_BYTES,
                .processes =
                        add_saturated(v[MAX_CONNECTIONS].number, v[MAX_WORKER_PROCESSES].number),
        };
        uint64_t vacuum = release->major >= 18 ? v[AUTOVACUUM_WORKER_SLOTS].number
                                               : v[AUTOVACUUM_MAX_WORKERS].number;

        s.processes = add_saturated(s.processes, add_saturated(vacuum, release->others));
        if (release->has_own_senders)
                s.processes = add_saturated(s.processes, v[MAX_WAL_SENDERS].number);
        s.lockers = add_saturated(s.processes, v[MAX_PREPARED_TRANSACTIONS].number);
        s.statuses = add_saturated(s.processes, release->auxiliary);
        return s;
}

/* Returns the segment of the version, or of the nearest older one; if the version is not known, the largest. */
static Segment find_segment(const ParameterValue *v, bool has_statements) {
        Version version = parameters_version(v);
        const Release *known = releases;
        Segment found = {};
        uint64_t most = 0;

        ARRAY_FOREACH(release, releases, ARRAY_LEN(releases)) {
                if (version.n_known > 0) {
                        known = release->major <= version.numbers[0] ? release : known;
                        continue;
                }
                Segment segment = segment_of(release, v, has_statements);
                const Terms terms = terms_of(&segment);
                uint64_t bytes = ARRAY_SUM(term, terms.items, ARRAY_LEN(terms.items), term->bytes);

                if (bytes > most) {
                        most = bytes;
                        found = segment;
                }
        }
        return version.n_known > 0 ? segment_of(known, v, has_statements) : found;
}

uint64_t postgresql_newest_known(void) {
        return releases[ARRAY_LEN(releases) - 1].major;
}

void postgresql_segment_size(Arena *arena, const ParameterValue *v, bool has_statements,
                             Sizing *sizing) {
        Segment segment = find_segment(v, has_statements);
        const Terms terms = terms_of(&segment);

        ARRAY_FOREACH(term, terms.items, ARRAY_LEN(terms.items))
                sizing_add_positive(arena, sizing, term->what, term->formula, term->bytes);
        if (segment.version.numbers[0] > postgresql_newest_known())
                sizing_add(arena, sizing, "what a newer version may add", "1/32 of all that",
                           sizing->bytes / NEWER_SHARE);
}
