/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Databases that take no reserved huge pages, and yet are the better or worse for transparent ones.
 * Each row gives what the vendor's documentation says. Where that changed with a version, the
 * installed program is asked for it. */

#include "base/text.h"
#include "engines/engine_rows.h"
#include "read/unit_file.h"

#include <string.h>

enum { VERSION_LENGTH_MAX = 32 };

static const char *size_nothing(Arena *arena, const Settings *settings, uint64_t page_size_bytes,
                                Sizing *ret) {
        (void) arena;
        (void) settings;
        (void) page_size_bytes;
        (void) ret;
        return "this engine takes no reserved huge pages, it has a wish for transparent ones only; "
               "leave out Memory= and Pages=";
}

/* ---- versions ---- */

/* The program that the unit starts, where it is called NAME. */
static void add_program_of_unit(Arena *arena, const char *unit_name, const Sources *sources,
                                const char *name, SourceNames *programs) {
        const UnitFile *unit = unit_file_read(arena, sources, unit_name);
        const UnitAssignment *start = unit_file_find(unit, "Service", "ExecStart");

        if (!start)
                return;
        UnitWords words = unit_file_command(arena, unit, sources, start->value);

        if (words.n > 0 && *words.items[0] == '/' &&
            text_ends_with(words.items[0], arena_printf(arena, "/%s", name)))
                *vec_push(arena, programs) = words.items[0];
}

/* The server's program NAME, asked for its version. */
static void ask_version(Arena *arena, const EngineTarget *target, const Sources *sources,
                        const char *name, Question *ret) {
        *ret = (Question){.user = QUESTION_ANYBODY};
        if (target->unit)
                add_program_of_unit(arena, target->unit, sources, name, &ret->program);
        *vec_push(arena, &ret->program) = arena_printf(arena, "/usr/bin/%s", name);
        *vec_push(arena, &ret->program) = arena_printf(arena, "/usr/local/bin/%s", name);
        *vec_push(arena, &ret->arguments) = "--version";
}

/* The version behind MARK: at least two numbers, for a single one may be anything. */
static const char *answer_version(Arena *arena, const char *output, const char *mark,
                                  const char **ret_version) {
        const char *at = strstr(output, mark);
        const char *version = at ? at + strlen(mark) : "";
        size_t length = strspn(version, "0123456789."), n = strspn(version, "0123456789");
        const char *found = arena_strndup(arena, version, length);
        uint64_t major, minor;

        if (length >= VERSION_LENGTH_MAX || length < n + 2 ||
            parse_version(found, &major, &minor) < 0)
                return arena_printf(arena, "its answer holds no version ('%sX.Y' is expected)",
                                    mark);
        *ret_version = found;
        return NULL;
}

/* ---- MongoDB ---- */

static ThpPolicy mongodb_thp_by_version(uint64_t major, uint64_t minor) {
        (void) minor;
        return major >= 8 ? THP_ALWAYS : THP_NEVER;
}

static void mongodb_ask_version(Arena *arena, const EngineTarget *target, const Sources *sources,
                                Question *ret) {
        ask_version(arena, target, sources, "mongod", ret);
}

/* "db version v8.0.4" */
static const char *mongodb_answer_version(Arena *arena, const char *output,
                                          const char **ret_version) {
        return answer_version(arena, output, "db version v", ret_version);
}

/* mongodb.com/docs/manual/tutorial/disable-transparent-huge-pages: off up to 7.0. From 8.0 on
 * (x86_64 and arm64) its allocator wants "always" (.../administration/tcmalloc-performance). */
const Engine engine_mongodb = {
        .name = "mongodb",
        .title = "MongoDB",
        .default_unit = "mongod.service",
        .thp_wish = THP_NEVER,
        .is_thp_dense = true, /* the same page: khugepaged/max_ptes_none 0 */
        .size = size_nothing,
        .thp_by_version = mongodb_thp_by_version,
        .ask_version = mongodb_ask_version,
        .answer_version = mongodb_answer_version,
        .programs = "mongod",
};

/* ---- Redis ---- */

static ThpPolicy redis_thp_by_version(uint64_t major, uint64_t minor) {
        return major > 6 || (major == 6 && minor >= 2) ? THP_AUTO : THP_NEVER;
}

static void redis_ask_version(Arena *arena, const EngineTarget *target, const Sources *sources,
                              Question *ret) {
        ask_version(arena, target, sources, "redis-server", ret);
}

/* "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=..." */
static const char *redis_answer_version(Arena *arena, const char *output,
                                        const char **ret_version) {
        return answer_version(arena, output, "server v=", ret_version);
}

/* redis.io, latency: off. From 6.2 on `disable-thp yes`, the default, sees to that by itself, so
 * that nothing is wanted of the host. Debian calls the unit redis-server.service, Red Hat
 * redis.service. */
const Engine engine_redis = {
        .name = "redis",
        .title = "Redis",
        .thp_wish = THP_NEVER,
        .size = size_nothing,
        .thp_by_version = redis_thp_by_version,
        .ask_version = redis_ask_version,
        .answer_version = redis_answer_version,
        .programs = "redis-server",
};

/* ---- one wish for all versions ---- */

/* Performance best practices for SQL Server on Linux: leave it on. */
const Engine engine_mssql = {
        .name = "mssql",
        .title = "SQL Server",
        .default_unit = "mssql-server.service",
        .programs = "sqlservr",
        .thp_wish = THP_ALWAYS,
        .size = size_nothing,
};

/* clickhouse.com/docs/operations/tips: madvise; reserved pages "do not need to be allocated". */
const Engine engine_clickhouse = {
        .name = "clickhouse",
        .title = "ClickHouse",
        .default_unit = "clickhouse-server.service",
        .programs = "clickhouse clickhouse-server",
        .thp_wish = THP_MADVISE,
        .size = size_nothing,
};

/* memcached -L calls madvise(2) for its slabs and takes nothing from hugetlb pools (measured). */
const Engine engine_memcached = {
        .name = "memcached",
        .title = "memcached",
        .default_unit = "memcached.service",
        .programs = "memcached",
        .thp_wish = THP_MADVISE,
        .size = size_nothing,
};
