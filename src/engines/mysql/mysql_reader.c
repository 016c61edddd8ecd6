/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The servers of the MySQL family: their settings, and where else they are. */

#include "base/text.h"
#include "engines/mysql/mysql_server.h"

/* Of option files and command lines of both. */
static Reads reads(const MysqlDialect *dialect, const char *word) {
        const char *const *groups = dialect->product->groups;

        for (; *groups; groups++) { /* "mysqld.reports", "mysqld-10.11", "mysqld1" */
                const char *rest = word + strlen(*groups);

                if (text_starts_with(word, *groups) && (!*rest || strchr("-.0123456789", *rest)))
                        return READS_WORD;
        }
        if (text_has_word("include includedir memlock innodb_buffer_pool_size_max", word))
                return READS_VALUE;
        if (text_has_word("defaults-file defaults-extra-file defaults-group-suffix", word) ||
            text_equals(word, dialect->product->title))
                return READS_NEXT;
        if (text_has_word("no-defaults MYSQL_GROUP_SUFFIX MYSQL_HOME", word))
                return READS_WORD;
        return mysql_option_reads(&dialect->names, word);
}

/* "mariadbd  Ver 10.11.18-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)" */
static const char version_mark[] = "Ver ";

/* What its option files hold does not matter. */
static const char version_option[] = "--no-defaults";

/* ---- MariaDB ---- */

/* The shortest names that 10.11 takes. */
static const MysqlName mariadb_names[] = {
        {.name = "innodb_buffer_pool_size"},
        {.name = "innodb_buffer_pool_chunk_size", .shortest = "innodb_buffer_pool_c"},
        {.name = "innodb_log_buffer_size", .shortest = "innodb_log_b"},
        {.name = "key_buffer_size", .shortest = "key_b", .of_key_cache = true},
        {.name = "key_cache_segments", .shortest = "key_cache_s"},
        {.name = "key_cache_block_size", .shortest = "key_cache_b", .of_key_cache = true},
        {.name = "aria_pagecache_buffer_size", .shortest = "aria_pagecache_b"},
        {.name = "aria_block_size", .shortest = "aria_b"},
        {.name = "large_pages", .shortest = "lar", .kind = MYSQL_SWITCH},
        {.name = "datadir", .shortest = "data", .kind = MYSQL_TEXT, .letter = 'h'},
        {.name = "user", .kind = MYSQL_TEXT, .letter = 'u'},
};

static const MysqlDialect mariadb_dialect = {
        .product = &mysql_product_mariadb,
        .versioned_groups = (const char *const[]){"mysqld", "mariadb", "mariadbd", NULL},
        .version_files = (const char *const[]){"mariadb_upgrade_info", "mysql_upgrade_info", NULL},
        .names = {mariadb_names, ARRAY_LEN(mariadb_names)},
};

static const char *gather_mariadb(Arena *arena, const EngineTarget *target, const Sources *sources,
                                  Gathered *ret) {
        return mysql_server_gather(arena, &mariadb_dialect, target, sources, ret);
}

static Reads reads_mariadb(const char *word) {
        return reads(&mariadb_dialect, word);
}

static const EngineFallback mariadb_fallback = {
        "large_pages", NULL,
        "large_pages falls back silently: the key caches come first, and what its buffer pool could not have at its start it took in small pages"};

const EngineReader reader_mariadb = {
        .gather = gather_mariadb,
        .reads = reads_mariadb,
        .whole_files = "mariadb_upgrade_info mysql_upgrade_info",
        .version_mark = version_mark,
        .version_programs = "mariadbd mysqld", /* the one up to 10.4.5 */
        .version_option = version_option,
        .fallbacks = &mariadb_fallback,
        .n_fallbacks = 1,
};

/* ---- MySQL ---- */

/* Whole names only: MySQL gave up abbreviations with 8.0. */
static const MysqlName mysql_names[] = {
        {.name = "innodb_buffer_pool_size"},
        {.name = "innodb_buffer_pool_chunk_size"},
        {.name = "innodb_buffer_pool_instances"},
        {.name = "innodb_page_size"},
        {.name = "innodb_dedicated_server", .kind = MYSQL_SWITCH},
        {.name = "large_pages", .kind = MYSQL_SWITCH},
        {.name = "persisted_globals_load", .kind = MYSQL_SWITCH},
        {.name = "datadir", .kind = MYSQL_TEXT, .letter = 'h'},
        {.name = "user", .kind = MYSQL_TEXT, .letter = 'u'},
};

static const MysqlDialect mysql_dialect = {
        .product = &mysql_product_mysql,
        .versioned_groups = (const char *const[]){"mysqld", NULL},
        .version_files = (const char *const[]){"mysql_upgrade_history", "mysql_upgrade_info", NULL},
        .names = {mysql_names, ARRAY_LEN(mysql_names)},
        .persists = true,
};

static const char *gather_mysql(Arena *arena, const EngineTarget *target, const Sources *sources,
                                Gathered *ret) {
        return mysql_server_gather(arena, &mysql_dialect, target, sources, ret);
}

static Reads reads_mysql(const char *word) {
        return reads(&mysql_dialect, word);
}

static const EngineFallback mysql_fallback = {
        "large_pages", NULL,
        "large_pages falls back chunk by chunk; its log has a warning for each (MY-012681)"};

const EngineReader reader_mysql = {
        .gather = gather_mysql,
        .reads = reads_mysql,
        .whole_files = "mysql_upgrade_history mysql_upgrade_info",
        .version_mark = version_mark,
        .version_programs = "mysqld",
        .version_option = version_option,
        .fallbacks = &mysql_fallback,
        .n_fallbacks = 1,
};
