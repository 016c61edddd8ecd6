/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* PostgreSQL: the server's only shared memory segment, with the shared buffers and everything else that its processes
 * share.
 *
 * The server's own answer, `postgres -C shared_memory_size_in_huge_pages`, is exact from 15 on. If the server cannot be
 * asked, postgresql_segment.c computes the size as the server does, with blocks of 8kB, as in all packages. Huge pages
 * came with 9.4. */

#include "base/text.h"
#include "engines/postgresql/postgresql.h"

#include <string.h>
#include <strings.h>

/* ---- values as in postgresql.conf ---- */

/* Parses a number like parse_int() of guc.c; the unit follows it. */
static int parse_server_number(const char *value, Number *ret, const char **ret_unit) {
        int r = parse_number(value + strspn(value, " \t"), ret, ret_unit);

        if (r >= 0)
                *ret_unit += strspn(*ret_unit, " \t");
        return r;
}

/* Parses a number, whitespace and a unit (with case); without a unit the number counts UNIT_BYTES. The server rounds a
 * fraction of a unit to a whole number of the next smaller unit; here it is rounded up. */
static int parse_quantity(const char *value, uint64_t unit_bytes, uint64_t *ret_bytes) {
        static const struct {
                const char *name;
                uint64_t bytes, smaller_bytes;
        } units[] = {
                {"B", 1, 1}, {"kB", KIB, 1}, {"MB", MIB, KIB}, {"GB", GIB, MIB}, {"TB", TIB, GIB},
        };
        const char *unit;
        Number number;
        uint64_t count;
        int r = parse_server_number(value, &number, &unit);

        if (r < 0)
                return r;
        if (*unit == '\0')
                return number_scale(&number, unit_bytes, ret_bytes);
        for (size_t i = 0; i < ARRAY_LEN(units); i++)
                if (text_equals(unit, units[i].name)) {
                        r = number_scale(&number, units[i].bytes / units[i].smaller_bytes, &count);
                        return r < 0 ? r
                                     : number_scale(&(Number){.whole = count},
                                                    units[i].smaller_bytes, ret_bytes);
                }
        return -EINVAL;
}

static int parse_count(const char *value, uint64_t *ret) {
        const char *unit;
        Number number;
        int r = parse_server_number(value, &number, &unit);

        if (r < 0 || *unit)
                return r < 0 ? r : -EINVAL;
        return number_scale(&number, 1, ret);
}

static int parse_bytes(const char *value, uint64_t *ret_bytes) {
        return parse_quantity(value, 1, ret_bytes);
}

static int parse_kilobytes(const char *value, uint64_t *ret_bytes) {
        return parse_quantity(value, KIB, ret_bytes);
}

static int parse_megabytes(const char *value, uint64_t *ret_bytes) {
        return parse_quantity(value, MIB, ret_bytes);
}

int postgresql_parse_blocks(const char *value, uint64_t *ret_bytes) {
        return parse_quantity(value, POSTGRESQL_BLOCK_BYTES, ret_bytes);
}

/* -1 means that the server chooses; it is 0 here. A smaller value than a block counts as one block. */
static int parse_blocks_or_auto(const char *value, uint64_t *ret_bytes) {
        uint64_t bytes;

        if (text_equals(value, "-1")) {
                *ret_bytes = 0;
                return 0;
        }
        int r = postgresql_parse_blocks(value, &bytes);

        if (r >= 0)
                *ret_bytes = MAX(bytes, (uint64_t) POSTGRESQL_BLOCK_BYTES);
        return r;
}

static int parse_count_or_auto(const char *value, uint64_t *ret) {
        uint64_t count = 0;
        int r = text_equals(value, "-1") ? 0 : parse_count(value, &count);

        if (r < 0)
                return r;
        if (count == 0 && *value != '-')
                return -ERANGE;
        *ret = count;
        return 0;
}

static int parse_huge_pages(const char *value, uint64_t *ret) {
        static const char *const words[] = {"off", "on", "try", NULL};
        int r = parse_word(value, words, ret);

        return r < 0 ? parse_switch(value, ret) : r;
}

/* ---- settings ---- */

static const char expects_blocks[] =
        "write a size such as 128GB (B, kB, MB, GB, TB; none: blocks of 8kB)";
static const char expects_megabytes[] = "write a size such as 256MB (none: megabytes)";
static const char expects_kilobytes[] = "write a size such as 1GB (none: kilobytes)";
static const char expects_bytes[] = "write a size such as 16MB (none: bytes)";
static const char expects_count[] = "write a whole number";

static const Parameter parameters[] = {
        [SERVER_VERSION] = PARAMETER_SERVER_VERSION,
        [SHARED_BUFFERS] = {"shared_buffers", postgresql_parse_blocks, expects_blocks,
                            .initial = 128 * MIB, .minimum = 128 * KIB},
        [MAX_CONNECTIONS] = {"max_connections", parse_count, expects_count, .initial = 100,
                             .minimum = 1},
        [AUTOVACUUM_MAX_WORKERS] = {"autovacuum_max_workers", parse_count, expects_count,
                                    .initial = 3},
        [AUTOVACUUM_WORKER_SLOTS] = {"autovacuum_worker_slots", parse_count, expects_count,
                                     .initial = 16, .since = 18},
        [MAX_WORKER_PROCESSES] = {"max_worker_processes", parse_count, expects_count, .initial = 8},
        [MAX_WAL_SENDERS] = {"max_wal_senders", parse_count, expects_count, .initial = 10},
        [MAX_PREPARED_TRANSACTIONS] = {"max_prepared_transactions", parse_count, expects_count},
        [MAX_LOCKS_PER_TRANSACTION] = {"max_locks_per_transaction", parse_count, expects_count,
                                       .initial = 64},
        [MAX_PRED_LOCKS_PER_TRANSACTION] = {"max_pred_locks_per_transaction", parse_count,
                                            expects_count, .initial = 64},
        [MAX_REPLICATION_SLOTS] = {"max_replication_slots", parse_count, expects_count,
                                   .initial = 10},
        [MIN_DYNAMIC_SHARED_MEMORY] = {"min_dynamic_shared_memory", parse_megabytes,
                                       expects_megabytes, .since = 14},
        [WAL_BUFFERS] = {"wal_buffers", parse_blocks_or_auto, expects_blocks},
        [WAL_SEGMENT_SIZE] = {"wal_segment_size", parse_bytes, expects_bytes, .initial = 16 * MIB},
        [TRACK_ACTIVITY_QUERY_SIZE] = {"track_activity_query_size", parse_bytes, expects_bytes,
                                       .initial = KIB},
        [MAX_LOGICAL_REPLICATION_WORKERS] = {"max_logical_replication_workers", parse_count,
                                             expects_count, .initial = 4, .since = 10},
        [MAX_ACTIVE_REPLICATION_ORIGINS] = {"max_active_replication_origins", parse_count,
                                            expects_count, .initial = 10, .since = 18},
        [IO_METHOD] = {"io_method", NULL, "write worker, sync or io_uring",
                       PARAMETER_WORDS("worker", "sync", "io_uring"), .initial = IO_METHOD_WORKER,
                       .since = 18},
        [IO_MAX_CONCURRENCY] = {"io_max_concurrency", parse_count_or_auto,
                                "write -1 or more than 0", .since = 18},
        [IO_MAX_COMBINE_LIMIT] = {"io_max_combine_limit", postgresql_parse_blocks, expects_blocks,
                                  .initial = 128 * KIB, .since = 18},
        /* The default, if the page size is not known, is the largest of Linux on today's hosts. */
        [HOST_BASE_PAGE] = {"host_base_page", parse_u64, "write bytes", .initial = 64 * KIB,
                            .minimum = 1},
        [COMMIT_TIMESTAMP_BUFFERS] = {"commit_timestamp_buffers", postgresql_parse_blocks,
                                      expects_blocks, .since = 17},
        [MULTIXACT_MEMBER_BUFFERS] = {"multixact_member_buffers", postgresql_parse_blocks,
                                      expects_blocks, .initial = 32 * POSTGRESQL_BLOCK_BYTES,
                                      .since = 17},
        [MULTIXACT_OFFSET_BUFFERS] = {"multixact_offset_buffers", postgresql_parse_blocks,
                                      expects_blocks, .initial = 16 * POSTGRESQL_BLOCK_BYTES,
                                      .since = 17},
        [NOTIFY_BUFFERS] = {"notify_buffers", postgresql_parse_blocks, expects_blocks,
                            .initial = 16 * POSTGRESQL_BLOCK_BYTES, .since = 17},
        [SERIALIZABLE_BUFFERS] = {"serializable_buffers", postgresql_parse_blocks, expects_blocks,
                                  .initial = 32 * POSTGRESQL_BLOCK_BYTES, .since = 17},
        [SUBTRANSACTION_BUFFERS] = {"subtransaction_buffers", postgresql_parse_blocks,
                                    expects_blocks, .since = 17},
        [TRANSACTION_BUFFERS] = {"transaction_buffers", postgresql_parse_blocks, expects_blocks,
                                 .since = 17},
        [SHARED_PRELOAD_LIBRARIES] = {"shared_preload_libraries", NULL,
                                      "write names with commas between"},
        [PG_STAT_STATEMENTS_MAX] = {"pg_stat_statements.max", parse_count, expects_count,
                                    .initial = 5000},
        [HUGE_PAGES] = {"huge_pages", parse_huge_pages, "write on", .initial = HUGE_PAGES_TRY},
        [HUGE_PAGE_SIZE] = {"huge_page_size", parse_kilobytes, expects_kilobytes, .since = 14},
        [SHARED_MEMORY_TYPE] = {"shared_memory_type", NULL, "write mmap",
                                PARAMETER_WORDS("mmap", "sysv")},
        [BLOCK_SIZE] = {"block_size", parse_bytes, expects_bytes, .initial = POSTGRESQL_BLOCK_BYTES,
                        .minimum = KIB},
};

const ParameterTable postgresql_parameters = {parameters, ARRAY_LEN(parameters)};

/* ---- preloaded libraries ---- */

/* Returns whether pg_stat_statements is preloaded, and adds the libraries of unknown size to UNKNOWN. Some take less
 * than a page, as measured. */
static bool read_preloads(const Setting *setting, Text *unknown) {
        static const char prefix[] = "$libdir/";
        bool has_statements = false;

        TEXT_FOREACH(library, unknown->arena, setting ? setting->value : NULL, ", '\"") {
                if (text_starts_with(library, prefix))
                        library += strlen(prefix);
                if (text_equals(library, "pg_stat_statements"))
                        has_statements = true;
                else if (!text_has_word("auth_delay auto_explain passwordcheck pg_prewarm",
                                        library))
                        text_add_item(unknown, library);
        }
        return has_statements;
}

/* ---- the formula ---- */

/* Returns why the server would not take pages of this size, or NULL. */
static const char *check_pages(Arena *arena, const ParameterValue *v, uint64_t page_size_bytes) {
        if (v[HUGE_PAGES].number == HUGE_PAGES_OFF)
                return setting_refuse(arena, v[HUGE_PAGES].setting,
                                      "with this PostgreSQL takes no huge pages; write on");
        if (v[SHARED_MEMORY_TYPE].number == SHARED_MEMORY_TYPE_SYSV)
                return setting_refuse(arena, v[SHARED_MEMORY_TYPE].setting,
                                      "with this PostgreSQL takes no huge pages; write mmap");
        if (v[HUGE_PAGE_SIZE].number != 0 && v[HUGE_PAGE_SIZE].number != page_size_bytes)
                return setting_refuse(
                        arena, v[HUGE_PAGE_SIZE].setting,
                        "PostgreSQL would take pages of %s, but these are pages of %s; "
                        "make them the same",
                        format_page_size(arena, v[HUGE_PAGE_SIZE].number),
                        format_page_size(arena, page_size_bytes));
        return NULL;
}

bool postgresql_takes_pages(Arena *arena, const Settings *settings, uint64_t page_size_bytes) {
        ParameterValue v[ARRAY_LEN(parameters)];

        return parameters_read(arena, &engine_postgresql, &postgresql_parameters, settings, v) ||
               !check_pages(arena, v, page_size_bytes);
}

static const char *caveat(Arena *arena, const ParameterValue *v, const Text *unknown) {
        static const char ask[] =
                "the server's own answer is exact, from 15 on: postgres -C shared_memory_size_in_huge_pages";
        uint64_t version = v[SERVER_VERSION].number, newest = postgresql_newest_known();

        if (unknown->length > 0)
                return arena_printf(
                        arena, "the memory of these preloaded libraries is not counted: %s; %s",
                        unknown->string, ask);
        if (version > newest)
                return arena_printf(arena,
                                    "an estimate, because %" PRIu64
                                    " is newer than this rule, which covers %" PRIu64 "; %s",
                                    version, newest, ask);
        return arena_printf(arena, "an upper bound; %s", ask);
}

/* ---- the version ---- */

bool postgresql_is_version(const char *text) {
        size_t length = strlen(text);

        return length > 0 && length <= 5 && strspn(text, "0123456789.") == length && *text != '.';
}

const char *postgresql_version_in(Arena *arena, const char *text) {
        static const char suffix[] = ".service";
        bool is_behind_name = false;

        if (text && text_ends_with(text, suffix))
                text = arena_strndup(arena, text, strlen(text) - strlen(suffix));
        TEXT_FOREACH(word, arena, text, "/-@") {
                if (is_behind_name && postgresql_is_version(word))
                        return word;
                is_behind_name = text_equals(word, "postgresql") || text_equals(word, "pgsql") ||
                                 text_equals(word, "postgres");
        }
        return NULL;
}

/* ---- all ---- */

static const char *add_postgresql(Arena *arena, const Settings *settings UNUSED,
                                  const ParameterValue *v, Sizing *sizing) {
        const char *wrong = check_pages(arena, v, sizing->page_size_bytes);
        Text unknown = text_in(arena);

        if (wrong)
                return wrong;
        if (!version_may_follow(parameters_version(v), VERSION(9, 4)))
                return setting_refuse(arena, v[SERVER_VERSION].setting,
                                      "PostgreSQL takes huge pages from 9.4 on; remove Memory=");
        if (v[BLOCK_SIZE].number != POSTGRESQL_BLOCK_BYTES)
                return setting_refuse(
                        arena, v[BLOCK_SIZE].setting,
                        "the formula is for blocks of 8kB; set Pages= to the answer of "
                        "postgres -C shared_memory_size_in_huge_pages");
        bool has_statements = read_preloads(v[SHARED_PRELOAD_LIBRARIES].setting, &unknown);

        postgresql_segment_size(arena, v, has_statements, sizing);
        sizing->caveat = caveat(arena, v, &unknown);
        return NULL;
}

const EngineFormula formula_postgresql = {add_postgresql, &postgresql_parameters,
                                          postgresql_version_in};
