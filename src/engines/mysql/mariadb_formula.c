/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* MariaDB with large-pages: every cache is a separate mapping. The buffer pool is mapped after the key caches, and gets
 * no huge pages at all if a few are missing; the log says nothing about that.
 *
 * Source: my_large_virtual_alloc() and buf_pool_t::create() of 10.11.18 and 11.8.6, and measurements of both; of
 * 10.11.19 for odd sizes, minimums and key caches of other names, of 10.5.29 and 10.11.7 for the pool in chunks. */

#include "engines/mysql/mysql.h"

#include <string.h>

enum {
        SERVER_VERSION,
        INNODB_BUFFER_POOL_SIZE,
        INNODB_BUFFER_POOL_CHUNK_SIZE,
        INNODB_LOG_BUFFER_SIZE,
        INNODB_SORT_BUFFER_SIZE,
        KEY_BUFFER_SIZE,
        KEY_CACHE_SEGMENTS,
        KEY_CACHE_BLOCK_SIZE,
        ARIA_PAGECACHE_BUFFER_SIZE,
        ARIA_BLOCK_SIZE,
        LARGE_PAGES,
};

/* The buffer pool consists of extents of this size, and is aligned to it within its mapping. */
#define POOL_EXTENT_BYTES (8 * MIB)

/* The server raises smaller values to these. */
#define LOG_BUFFER_MIN_BYTES (2 * MIB)
#define ARIA_CACHE_MIN_BYTES (128 * KIB)

/* A cache's structures for its blocks are subtracted from its size, and lie in ordinary memory: BLOCK_LINK and two
 * HASH_LINKs, and a hash table of pointers (init_key_cache() of mf_keycache.c, init_pagecache() of ma_pagecache.c). */
enum { KEY_LINKS_BYTES = 208, ARIA_LINKS_BYTES = 368, POINTER_BYTES = 8 };

static const char expects_size[] = "write a size such as 12G (K, M, G, T; none: bytes)";

static const Parameter parameters[] = {
        [SERVER_VERSION] = PARAMETER_SERVER_VERSION,
        [INNODB_BUFFER_POOL_SIZE] = {"innodb_buffer_pool_size", parse_lettered_bytes, expects_size,
                                     .initial = 128 * MIB, .minimum = 2 * MIB},
        [INNODB_BUFFER_POOL_CHUNK_SIZE] = {"innodb_buffer_pool_chunk_size", parse_lettered_bytes,
                                           expects_size},
        [INNODB_LOG_BUFFER_SIZE] = {"innodb_log_buffer_size", parse_lettered_bytes, expects_size,
                                    .initial = 16 * MIB},
        [INNODB_SORT_BUFFER_SIZE] = {"innodb_sort_buffer_size", parse_lettered_bytes, expects_size,
                                     .initial = MIB},
        [KEY_BUFFER_SIZE] = {"key_buffer_size", parse_lettered_bytes, expects_size,
                             .initial = 128 * MIB},
        [KEY_CACHE_SEGMENTS] = {"key_cache_segments", parse_u64, "write a number from 0 to 64",
                                .maximum = 64},
        [KEY_CACHE_BLOCK_SIZE] = {"key_cache_block_size", parse_lettered_bytes, expects_size,
                                  .initial = KIB, .minimum = 512},
        [ARIA_BLOCK_SIZE] = {"aria_block_size", parse_lettered_bytes, expects_size,
                             .initial = 8 * KIB, .minimum = KIB},
        [ARIA_PAGECACHE_BUFFER_SIZE] = {"aria_pagecache_buffer_size", parse_lettered_bytes,
                                        expects_size, .initial = 128 * MIB},
        [LARGE_PAGES] = {"large_pages", parse_switch, "write ON", .initial = 1},
};

static const ParameterTable table = {parameters, ARRAY_LEN(parameters), .has_prefixes = true};

/* ---- the pool ---- */

/* How the pool is mapped, by version. */
typedef enum PoolKind {
        POOL_CHUNKS,    /* of 128M */
        POOL_64_CHUNKS, /* from 10.8 on, rounded down to the server's large page size */
        POOL_ONE,       /* one mapping: MDEV-29445, in three series */
        POOLS,
} PoolKind;

/* Before MDEV-14425 each start took this buffer (RECV_PARSING_BUF_SIZE, log0recv.cc). */
#define RECOVERY_BUFFER_BYTES (2 * MIB)

static bool is_between(Version version, Version first, Version limit) {
        return version_may_follow(version, first) && version_may_precede(version, limit);
}

/* A server whose version is known only in part may have more than one of them. */
static bool may_have(Version version, PoolKind pool) {
        switch (pool) {
        case POOL_CHUNKS:
                return version_may_precede(version, VERSION(10, 8));
        case POOL_64_CHUNKS:
                return is_between(version, VERSION(10, 8), VERSION(10, 11, 12)) ||
                       is_between(version, VERSION(11, 0), VERSION(11, 4, 6)) ||
                       is_between(version, VERSION(11, 5), VERSION(11, 8));
        default:
                return is_between(version, VERSION(10, 11, 12), VERSION(11, 0)) ||
                       is_between(version, VERSION(11, 4, 6), VERSION(11, 5)) ||
                       version_may_follow(version, VERSION(11, 8));
        }
}

static uint64_t chunk_bytes(const ParameterValue *values, PoolKind pool) {
        uint64_t pool_bytes = values[INNODB_BUFFER_POOL_SIZE].number;
        uint64_t set_bytes = values[INNODB_BUFFER_POOL_CHUNK_SIZE].number;

        if (set_bytes == 0 && pool == POOL_64_CHUNKS)
                return pool_bytes / 64;
        return MIN(set_bytes > 0 ? set_bytes : 128 * MIB, pool_bytes);
}

/* Adds the pool as one mapping, rounded up to extents and to whole pages. */
static void add_one_mapping(Arena *arena, Sizing *sizing, uint64_t pool_bytes) {
        uint64_t extents_bytes = round_up_saturated(pool_bytes, POOL_EXTENT_BYTES);

        sizing->mapping_bytes = pool_bytes;
        sizing_add(arena, sizing, "InnoDB buffer pool", "rounded up to 8M and to whole pages",
                   round_up_saturated(extents_bytes, sizing->page_size_bytes));
        /* The server retries with more until it fits: with three pages of 2M more in measurements, with four if
         * addresses are unfavourable. */
        if (sizing->page_size_bytes < POOL_EXTENT_BYTES)
                sizing_add(arena, sizing, "alignment of the pool", "to 8M, at worst",
                           POOL_EXTENT_BYTES);
}

static void add_chunks(Arena *arena, Sizing *sizing, const ParameterValue *values, PoolKind pool) {
        uint64_t pool_bytes = values[INNODB_BUFFER_POOL_SIZE].number;
        uint64_t each = chunk_bytes(values, pool);
        uint64_t mapping_bytes = round_up_saturated(each, sizing->page_size_bytes);
        uint64_t whole_bytes = round_up_saturated(pool_bytes, sizing->page_size_bytes);
        /* The server rounds the setting down to whole MiB; measured with 10.5.29, 10.11.18 and 11.8.6. */
        uint64_t n = div_round_up(pool_bytes / MIB * MIB, each);

        sizing->mapping_bytes = each;
        if (pool == POOL_64_CHUNKS && values[INNODB_BUFFER_POOL_CHUNK_SIZE].number == 0) {
                sizing_add(arena, sizing, "InnoDB buffer pool", "rounded up to whole pages",
                           whole_bytes);
                sizing_add(arena, sizing, "rounding to whole chunks", "1/64 of the pool, at worst",
                           mapping_bytes);
        } else {
                sizing_add(arena, sizing, "InnoDB buffer pool",
                           arena_printf(arena, "%" PRIu64 " x %s: chunks, each in whole pages", n,
                                        format_size(arena, each)),
                           MAX(mul_saturated(n, mapping_bytes), whole_bytes));
        }
}

/* Adds the pool as it is mapped, or as the possible mapping that takes most. Chunks that are smaller than a page take
 * none. Returns false if the pool takes none, however it is mapped. */
static bool add_pool(Arena *arena, Sizing *sizing, const ParameterValue *values) {
        Version version = parameters_version(values);
        Sizing most = {};

        for (PoolKind pool = 0; pool < POOLS; pool++) {
                Sizing part = {.page_size_bytes = sizing->page_size_bytes};

                if (!may_have(version, pool))
                        continue;
                if (pool == POOL_ONE)
                        add_one_mapping(arena, &part, values[INNODB_BUFFER_POOL_SIZE].number);
                else if (chunk_bytes(values, pool) >= sizing->page_size_bytes)
                        add_chunks(arena, &part, values, pool);
                if (part.bytes > most.bytes)
                        most = part;
        }
        vec_push_all(arena, &sizing->steps, &most.steps);
        sizing->mapping_bytes = most.mapping_bytes;
        sizing->bytes = add_saturated(sizing->bytes, most.bytes);
        return most.bytes > 0;
}

/* ---- key caches ---- */

/* Returns the bytes of a cache's blocks. The hash table has two pointers for each block, rounded up to a power of two,
 * where the number of blocks is computed with a pointer and a quarter for each. */
static uint64_t blocks_bytes(uint64_t bytes, uint64_t block_bytes, uint64_t links_bytes) {
        uint64_t each = add_saturated(block_bytes, links_bytes);
        uint64_t room = bytes / add_saturated(each, POINTER_BYTES * 5 / 4);
        uint64_t table_bytes = mul_saturated(power_of_two_from(room), 2 * POINTER_BYTES);

        return mul_saturated(MIN(room, (bytes - MIN(table_bytes, bytes)) / each), block_bytes);
}

/* Adds the key buffer, or a key cache of another name, whose segments are mapped one by one. */
static void add_key_cache(Arena *arena, Sizing *sizing, const char *what, uint64_t bytes,
                          uint64_t block_bytes, uint64_t segments) {
        uint64_t part_bytes = blocks_bytes(div_round_up(bytes, MAX(segments, UINT64_C(1))),
                                           block_bytes, KEY_LINKS_BYTES);

        if (segments <= 1)
                sizing_add_mapping(arena, sizing, what, part_bytes, 1);
        else if (part_bytes < sizing->page_size_bytes)
                sizing_add_positive(arena, sizing, what, "its segments are too small", 0);
        else
                sizing_add(
                        arena, sizing, what,
                        arena_printf(arena, "%" PRIu64 " segments, each in whole pages", segments),
                        mul_saturated(segments,
                                      round_up_saturated(part_bytes, sizing->page_size_bytes)));
}

/* Reads "hot.key_cache_segments" for "hot" and ROW. A named cache does not inherit the default cache's values. */
static const char *read_of_cache(Arena *arena, const Settings *settings, const char *cache,
                                 const Parameter *row, uint64_t *ret) {
        const Setting *setting =
                settings_find(settings, arena_printf(arena, "%s.%s", cache, row->name));

        *ret = row->initial;
        if (setting && parameter_parse(row, setting->value, ret) < 0)
                return setting_refuse(arena, setting, "'%s' is not valid; %s", setting->value,
                                      row->expects);
        return NULL;
}

enum { NAMED_CACHES_MAX = 64 };

/* "hot.key_buffer_size": the last setting of each name counts. */
static const char *add_named_key_caches(Arena *arena, Sizing *sizing, const Settings *settings) {
        static const unsigned rows[] = {KEY_BUFFER_SIZE, KEY_CACHE_BLOCK_SIZE, KEY_CACHE_SEGMENTS};
        size_t n = 0;

        VEC_FOREACH(setting, settings) {
                const char *point = strchr(setting->name, '.'), *wrong = NULL;
                uint64_t values[ARRAY_LEN(rows)];

                if (!point || !setting_is_named(point + 1, parameters[KEY_BUFFER_SIZE].name) ||
                    settings_find(settings, setting->name) != setting)
                        continue;
                if (++n > NAMED_CACHES_MAX)
                        return "it has more key caches than hugeplan adds up";
                const char *name = arena_strdup_to(arena, setting->name, point);

                for (size_t i = 0; i < ARRAY_LEN(rows) && !wrong; i++)
                        wrong = read_of_cache(arena, settings, name, &parameters[rows[i]],
                                              &values[i]);
                if (wrong)
                        return wrong;
                add_key_cache(arena, sizing, arena_printf(arena, "MyISAM key buffer '%s'", name),
                              values[0], values[1], values[2]);
        }
        return NULL;
}

#define MEASURED "checked against 10.5, 10.6, 10.11, 11.4 and 11.8"

static const char *caveat(Arena *arena, const ParameterValue *values) {
        if (!version_may_precede(parameters_version(values), VERSION(11, 9)))
                return arena_printf(
                        arena,
                        "an estimate, because %s is newer than this rule, which was " MEASURED,
                        values[SERVER_VERSION].setting->value);
        return "an upper bound, " MEASURED
               ": at most 9 pages of 2M more than the server takes, except for rounding to chunks, "
               "and if its version is not known";
}

static const char *add_mariadb(Arena *arena, const Settings *settings, const ParameterValue *values,
                               Sizing *sizing) {
        uint64_t pool_bytes = values[INNODB_BUFFER_POOL_SIZE].number;
        uint64_t page_size_bytes = sizing->page_size_bytes;
        uint64_t log_bytes = MAX(values[INNODB_LOG_BUFFER_SIZE].number, LOG_BUFFER_MIN_BYTES);
        Version version = parameters_version(values);

        if (!version_may_follow(version, VERSION(10, 5)))
                return refuse_segments(arena, values[SERVER_VERSION].setting, "MariaDB up to 10.4");
        if (values[LARGE_PAGES].number == 0)
                return setting_refuse(arena, values[LARGE_PAGES].setting,
                                      "without it MariaDB takes no huge pages; write ON");
        if (pool_bytes < page_size_bytes)
                return arena_printf(arena,
                                    "innodb_buffer_pool_size: %s is less than one page of %s, so "
                                    "MariaDB would take none; choose smaller pages",
                                    format_size(arena, pool_bytes),
                                    format_page_size(arena, page_size_bytes));
        if (!add_pool(arena, sizing, values))
                return arena_printf(
                        arena,
                        "innodb_buffer_pool_size: this version maps the pool in chunks of "
                        "%s, less than one page of %s, so it would take none; choose "
                        "smaller pages, or set innodb_buffer_pool_chunk_size",
                        format_size(arena, chunk_bytes(values, POOL_64_CHUNKS)),
                        format_page_size(arena, page_size_bytes));
        /* One buffer is filled while the other is written. */
        sizing_add_mapping(arena, sizing, "InnoDB log buffer", log_bytes, 1);
        sizing_add_mapping(arena, sizing, "InnoDB log buffer, the second", log_bytes, 1);
        if (version_may_precede(version, VERSION(10, 8)))
                sizing_add_mapping(arena, sizing, "buffer of the crash recovery",
                                   RECOVERY_BUFFER_BYTES, 1);
        sizing_add_mapping(
                arena, sizing, "Aria page cache",
                blocks_bytes(MAX(values[ARIA_PAGECACHE_BUFFER_SIZE].number, ARIA_CACHE_MIN_BYTES),
                             values[ARIA_BLOCK_SIZE].number, ARIA_LINKS_BYTES),
                1);
        add_key_cache(arena, sizing, "MyISAM key buffer", values[KEY_BUFFER_SIZE].number,
                      values[KEY_CACHE_BLOCK_SIZE].number, values[KEY_CACHE_SEGMENTS].number);
        const char *wrong = add_named_key_caches(arena, sizing, settings);

        if (wrong)
                return wrong;
        /* row_merge_build_indexes() maps three buffers at a time and unmaps them at its end. If a page is missing it
         * uses ordinary memory, so no pages are reserved for it. */
        uint64_t sort_bytes = mul_saturated(3, values[INNODB_SORT_BUFFER_SIZE].number);

        if (sort_bytes >= page_size_bytes)
                sizing_add(arena, sizing, "index builds",
                           arena_printf(arena, "not counted: %s for each, or ordinary memory",
                                        format_size(arena, round_up_saturated(sort_bytes,
                                                                              page_size_bytes))),
                           0);
        sizing->caveat = caveat(arena, values);
        return NULL;
}

const EngineFormula formula_mariadb = {add_mariadb, &table};
