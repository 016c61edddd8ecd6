/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Databases that take no reserved huge pages, and yet are the better or worse for transparent ones.
 * Each row gives what the vendor's documentation says. */

#include "core/engine_rows.h"

static const char *size_nothing(Arena *arena, const Settings *settings, uint64_t page_size_bytes,
                                Sizing *ret) {
        (void) arena;
        (void) settings;
        (void) page_size_bytes;
        (void) ret;
        return "this engine takes no reserved huge pages, it has a wish for transparent ones only; "
               "leave out Memory= and Pages=";
}

/* mongodb.com/docs/manual/tutorial/disable-transparent-huge-pages: off up to 7.0. From 8.0 on
 * (x86_64 and arm64) its allocator wants "always" (.../administration/tcmalloc-performance); such
 * an instance says so by TransparentHugePages=always, for the version is not known here. */
const Engine engine_mongodb = {
        .name = "mongodb",
        .title = "MongoDB",
        .default_unit = "mongod.service",
        .thp_wish = THP_NEVER,
        .size = size_nothing,
};

/* redis.io, latency: off. From 6.2 on `disable-thp yes`, the default, sees to that by itself.
 * Debian calls the unit redis-server.service, Red Hat redis.service. */
const Engine engine_redis = {
        .name = "redis",
        .title = "Redis",
        .thp_wish = THP_NEVER,
        .size = size_nothing,
};

/* Performance best practices for SQL Server on Linux: leave it on. */
const Engine engine_mssql = {
        .name = "mssql",
        .title = "SQL Server",
        .default_unit = "mssql-server.service",
        .thp_wish = THP_ALWAYS,
        .size = size_nothing,
};

/* clickhouse.com/docs/operations/tips: madvise; reserved pages "do not need to be allocated". */
const Engine engine_clickhouse = {
        .name = "clickhouse",
        .title = "ClickHouse",
        .default_unit = "clickhouse-server.service",
        .thp_wish = THP_MADVISE,
        .size = size_nothing,
};

/* memcached -L calls madvise(2) for its slabs and takes nothing from hugetlb pools (measured). */
const Engine engine_memcached = {
        .name = "memcached",
        .title = "memcached",
        .default_unit = "memcached.service",
        .thp_wish = THP_MADVISE,
        .size = size_nothing,
};
