/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Databases that take no reserved huge pages, but run better with or without transparent ones. Each row gives what the
 * vendor's documentation says. If that changed with a version, the installed program is asked for its version. */

#include "engines/engine.h"

/* ---- MongoDB ---- */

/* mongodb.com/docs/manual/tutorial/disable-transparent-huge-pages: off up to 7.0. From 8.0 on
 * (x86_64 and arm64) its allocator wants "always" (.../administration/tcmalloc-performance). */
const Engine engine_mongodb = {
        .name = "mongodb",
        .title = "MongoDB",
        .default_unit = "mongod.service",
        .thp_preference = THP_NEVER,
        .is_thp_dense = true, /* from the same page: khugepaged/max_ptes_none 0 */
        .asks_version = true,
        .thp_changed_in = VERSION(8),
        .thp_since = THP_ALWAYS,
        .programs = "mongod",
        .servers = "mongod",
        .images = "mongo mongodb*",
};

/* ---- Redis ---- */

/* redis.io, latency: off. From 6.2 on `disable-thp yes`, the default, disables them for Redis itself, so it has no
 * preference for the host. Debian calls the unit redis-server.service, Red Hat redis.service. */
const Engine engine_redis = {
        .name = "redis",
        .title = "Redis",
        .thp_preference = THP_NEVER,
        .asks_version = true,
        .thp_changed_in = VERSION(6, 2),
        .thp_since = THP_AUTO,
        .programs = "redis-server",
        .servers = "redis-server",
        .images = "redis redis-[0-9]*",
};

/* ---- one preference for all versions ---- */

/* Performance best practices for SQL Server on Linux: leave it on. */
const Engine engine_mssql = {
        .name = "mssql",
        .title = "SQL Server",
        .default_unit = "mssql-server.service",
        .programs = "sqlservr",
        .servers = "sqlservr",
        .images = "mssql",
        .thp_preference = THP_ALWAYS,
};

/* clickhouse.com/docs/operations/tips: madvise; reserved pages "do not need to be allocated". */
const Engine engine_clickhouse = {
        .name = "clickhouse",
        .title = "ClickHouse",
        .default_unit = "clickhouse-server.service",
        .programs = "clickhouse clickhouse-server",
        .servers = "clickhouse-server",
        .images = "clickhouse clickhouse-server",
        .thp_preference = THP_MADVISE,
};

/* memcached -L calls madvise(2) for its slabs and takes nothing from hugetlb pools (measured). */
const Engine engine_memcached = {
        .name = "memcached",
        .title = "memcached",
        .default_unit = "memcached.service",
        .programs = "memcached",
        .servers = "memcached",
        .supervisors = "systemd-memcached-wrapper", /* Debian's script */
        .images = "memcached",
        .thp_preference = THP_MADVISE,
};
