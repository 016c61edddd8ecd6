/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The servers of the MySQL family: what they call their files, groups and units. */

#include "engines/mysql/mysql_server.h"

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

static const MysqlProduct mariadb_product = {
        .title = "MariaDB",
        .group = "mariadbd",
        .units = (const char *const[]){"mariadb.service", "mysql.service", "mysqld.service", NULL},
        .files = (const char *const[]){"/etc/my.cnf", "/etc/mysql/my.cnf", NULL},
        .groups = (const char *const[]){"mysqld", "server", "mariadb", "mariadbd", "client-server",
                                        "galera", NULL},
        .versioned_groups = (const char *const[]){"mysqld", "mariadb", "mariadbd", NULL},
        .template_prefix = "mariadb@",
        .template_separator = ".",
        .version_files = (const char *const[]){"mariadb_upgrade_info", "mysql_upgrade_info", NULL},
        .names = {mariadb_names, ARRAY_LEN(mariadb_names)},
};

static const char *gather_mariadb(Arena *arena, const EngineTarget *target, const Sources *sources,
                                  Gathered *ret) {
        return mysql_server_gather(arena, &mariadb_product, target, sources, ret);
}

static void add_mariadb_units(Arena *arena, const Sources *sources, SourceNames *units) {
        mysql_server_add_units(arena, &mariadb_product, sources, units);
}

static const char *find_absent_mariadb(Arena *arena, const EngineTarget *target,
                                       const Sources *sources, bool has_disks) {
        (void) has_disks;
        return mysql_server_find_absent(arena, &mariadb_product, target, sources);
}

const EngineReader reader_mariadb = {
        .gather = gather_mariadb,
        .add_units = add_mariadb_units,
        .find_absent = find_absent_mariadb,
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

static const MysqlProduct mysql_product = {
        .title = "MySQL",
        .group = "mysqld",
        .units = (const char *const[]){"mysql.service", "mysqld.service", NULL},
        .files = (const char *const[]){"/etc/my.cnf", "/etc/mysql/my.cnf", "/usr/etc/my.cnf", NULL},
        .groups = (const char *const[]){"mysqld", "server", "mysql_cluster", NULL},
        .versioned_groups = (const char *const[]){"mysqld", NULL},
        .template_prefix = "mysqld@",
        .template_separator = "@",
        .version_files = (const char *const[]){"mysql_upgrade_history", "mysql_upgrade_info", NULL},
        .names = {mysql_names, ARRAY_LEN(mysql_names)},
        .persists = true,
};

static const char *gather_mysql(Arena *arena, const EngineTarget *target, const Sources *sources,
                                Gathered *ret) {
        return mysql_server_gather(arena, &mysql_product, target, sources, ret);
}

static void add_mysql_units(Arena *arena, const Sources *sources, SourceNames *units) {
        mysql_server_add_units(arena, &mysql_product, sources, units);
}

static const char *find_absent_mysql(Arena *arena, const EngineTarget *target,
                                     const Sources *sources, bool has_disks) {
        (void) has_disks;
        return mysql_server_find_absent(arena, &mysql_product, target, sources);
}

const EngineReader reader_mysql = {
        .gather = gather_mysql,
        .add_units = add_mysql_units,
        .find_absent = find_absent_mysql,
};
