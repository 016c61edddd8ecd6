/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* MariaDB with large-pages: every cache is a mapping of its own, and the buffer pool, the last to
 * be mapped, gets nothing at all where a few pages are missing, without a word in the log.
 *
 * Source: my_large_virtual_alloc() and buf_pool_t::create() of 10.11.18 and 11.8.6, and
 * measurements of both. */

#include "core/engine_rows.h"

enum {
        SERVER_VERSION,
        INNODB_BUFFER_POOL_SIZE,
        INNODB_LOG_BUFFER_SIZE,
        KEY_BUFFER_SIZE,
        ARIA_PAGECACHE_BUFFER_SIZE,
        LARGE_PAGES,
        SIZED_PARAMETERS,
};

/* The buffer pool is aligned to this within its mapping. */
#define POOL_ALIGNMENT_BYTES (8 * MIB)

static int parse_mariadb_size(const char *value, uint64_t *ret_bytes) {
        return parse_suffixed_bytes(value, "KkMmGgTtPpEe", ret_bytes);
}

static const char expects_size[] = "write a size such as 12G (K, M, G, T; none: bytes)";
static const char per_session[] = "private memory of the sessions";

static const Parameter parameters[] = {
        [SERVER_VERSION] = PARAMETER_SERVER_VERSION,
        [INNODB_BUFFER_POOL_SIZE] = {"innodb_buffer_pool_size", parse_mariadb_size, expects_size,
                                     .initial = 128 * MIB, .minimum = 2 * MIB},
        [INNODB_LOG_BUFFER_SIZE] = {"innodb_log_buffer_size", parse_mariadb_size, expects_size,
                                    .initial = 16 * MIB},
        [KEY_BUFFER_SIZE] = {"key_buffer_size", parse_mariadb_size, expects_size,
                             .initial = 128 * MIB},
        [ARIA_PAGECACHE_BUFFER_SIZE] = {"aria_pagecache_buffer_size", parse_mariadb_size,
                                        expects_size, .initial = 128 * MIB},
        [LARGE_PAGES] = {"large_pages", parse_switch, "write ON", .initial = 1},
        {.name = "innodb_buffer_pool_size_max",
         .takes_nothing = "large_pages sets it to innodb_buffer_pool_size"},
        {.name = "innodb_buffer_pool_chunk_size", .takes_nothing = "the pool is one mapping"},
        {.name = "innodb_buffer_pool_instances", .takes_nothing = "the pool is one mapping"},
        {.name = "max_connections", .takes_nothing = per_session},
        {.name = "sort_buffer_size", .takes_nothing = per_session},
        {.name = "join_buffer_size", .takes_nothing = per_session},
        {.name = "tmp_table_size", .takes_nothing = per_session},
        {.name = "max_heap_table_size", .takes_nothing = per_session},
        {.name = "query_cache_size", .takes_nothing = "ordinary memory"},
};

static const ParameterTable table = {&engine_mariadb, parameters, ARRAY_LEN(parameters)};

static const char *check(Arena *arena, const ParameterValue *values, uint64_t page_size_bytes) {
        uint64_t pool_bytes = values[INNODB_BUFFER_POOL_SIZE].number;

        if (values[LARGE_PAGES].number == 0)
                return setting_refuse(arena, values[LARGE_PAGES].setting,
                                      "without it MariaDB takes no huge pages; write ON");
        if (pool_bytes < page_size_bytes)
                return arena_printf(arena,
                                    "innodb_buffer_pool_size: %s is less than one page of %s, so "
                                    "that MariaDB would take none; choose smaller pages",
                                    format_size(arena, pool_bytes),
                                    format_page_size(arena, page_size_bytes));
        return NULL;
}

static const char *size_mariadb(Arena *arena, const Settings *settings, uint64_t page_size_bytes,
                                Sizing *ret) {
        ParameterValue values[ARRAY_LEN(parameters)];
        Sizing sizing = {.page_size_bytes = page_size_bytes};
        const char *wrong = parameters_read(arena, &table, settings, values);

        if (!wrong)
                wrong = check(arena, values, page_size_bytes);
        if (wrong)
                return wrong;
        sizing_add_mapping(arena, &sizing, "InnoDB buffer pool",
                           values[INNODB_BUFFER_POOL_SIZE].number, 1);
        sizing_add_positive(arena, &sizing, "alignment of the pool", "to 8M, at worst",
                            sub_floored(POOL_ALIGNMENT_BYTES, page_size_bytes));
        /* One is filled while the other is written out. */
        sizing_add_mapping(arena, &sizing, "InnoDB log buffer",
                           values[INNODB_LOG_BUFFER_SIZE].number, 1);
        sizing_add_mapping(arena, &sizing, "InnoDB log buffer, the second",
                           values[INNODB_LOG_BUFFER_SIZE].number, 1);
        sizing_add_mapping(arena, &sizing, "Aria page cache",
                           values[ARIA_PAGECACHE_BUFFER_SIZE].number, 1);
        sizing_add_mapping(arena, &sizing, "MyISAM key buffer", values[KEY_BUFFER_SIZE].number, 1);
        sizing_add_idle(arena, &sizing, &table, settings);
        sizing_finish(&sizing);
        sizing.caveat =
                "an upper bound, checked against 10.11 and 11.8: the pool's alignment takes "
                "less by chance, and Aria and MyISAM take up to a sixth less";
        *ret = sizing;
        return NULL;
}

/* No vendor's word on transparent huge pages was found. */
const Engine engine_mariadb = {
        .name = "mariadb",
        .title = "MariaDB",
        .default_unit = "mariadb.service",
        .thp_wish = THP_AUTO,
        .reserves = true,
        .memory_setting = "innodb_buffer_pool_size",
        .mebibyte_suffix = "M",
        .size = size_mariadb,
};
