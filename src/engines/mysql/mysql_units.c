/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/mysql/mysql.h"

#include "base/text.h"
#include "read/accounts.h"
#include "read/shell_words.h"

#include <string.h>
#include <strings.h>

/* The shortest names that 10.11 accepts. */
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

static const MysqlProduct mariadb = {
        .title = "MariaDB",
        .group = "mariadbd",
        .units = (const char *const[]){"mariadb.service", "mysql.service", "mysqld.service", NULL},
        .files = (const char *const[]){"/etc/my.cnf", "/etc/mysql/my.cnf", NULL},
        .groups = (const char *const[]){"mysqld", "server", "mariadb", "mariadbd", "client-server",
                                        "galera", NULL},
        .template_prefix = "mariadb@",
        .template_separator = ".",
        .versioned_groups = (const char *const[]){"mysqld", "mariadb", "mariadbd", NULL},
        .version_files = (const char *const[]){"mariadb_upgrade_info", "mysql_upgrade_info", NULL},
        .names = {mariadb_names, ARRAY_LEN(mariadb_names)},
};

/* Whole names only: MySQL dropped abbreviations in 8.0. */
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

static const MysqlProduct mysql = {
        .title = "MySQL",
        .group = "mysqld",
        .units = (const char *const[]){"mysql.service", "mysqld.service", NULL},
        .files = (const char *const[]){"/etc/my.cnf", "/etc/mysql/my.cnf", "/usr/etc/my.cnf", NULL},
        .groups = (const char *const[]){"mysqld", "server", "mysql_cluster", NULL},
        .template_prefix = "mysqld@",
        .template_separator = "@",
        .versioned_groups = (const char *const[]){"mysqld", NULL},
        .version_files = (const char *const[]){"mysql_upgrade_history", "mysql_upgrade_info", NULL},
        .names = {mysql_names, ARRAY_LEN(mysql_names)},
        .persists = true,
};

const MysqlProduct *mysql_product(const Engine *engine) {
        return text_equals(engine->name, "mysql") ? &mysql : &mariadb;
}

/* ---- what a unit passes to the server ---- */

static const char operators[] = ";&|()<>";

/* Splits TEXT roughly like a shell: an operator is a separate word. Variables that the script itself sets are not known
 * and count as empty, because those of the scripts in use do not affect the size (--wsrep_start_position). */
static SourceNames script_words(Arena *arena, const Variables *variables, const char *text) {
        static const char whitespace[] = " \t\n";
        SourceNames words = {};

        while (*(text += strspn(text, whitespace))) {
                /* A shell splits a value outside quotes into words. */
                bool is_bare = *text == '$';
                const char *word =
                        strchr(operators, *text)
                                ? arena_strndup(arena, text++, 1)
                                : shell_take_word(arena, &text, " \t\n;&|()<>", variables);

                if (!is_bare)
                        *vec_push(arena, &words) = word;
                else
                        TEXT_FOREACH(part, arena, word, whitespace)
                                *vec_push(arena, &words) = part;
        }
        return words;
}

/* Reads the words behind the last server, up to the next operator; mysqld_safe passes its arguments on. */
static MysqlCommand read_command(const UnitFile *unit) {
        static const char servers[] = "mariadbd mysqld mariadbd-safe mysqld_safe mysqld-debug "
                                      "mariadbd-debug mariadbd_safe";
        UnitAssignments commands = unit_file_list(unit, "Service", "ExecStart");
        MysqlCommand command = {};

        VEC_FOREACH(each, &commands) {
                SourceNames words = unit_file_command(unit, (*each)->value), arguments = {};
                bool is_shell = words.n > 0 &&
                                TEXT_IS_ANY(text_base_name(words.items[0]), "sh", "bash", "dash");

                for (size_t i = 1; is_shell && i + 1 < words.n; i++)
                        if (text_equals(words.items[i], "-c")) {
                                Variables variables = unit_file_variables(unit);

                                words = script_words(unit->arena, &variables, words.items[i + 1]);
                                break;
                        }
                size_t i = words.n;

                while (i > 0 && !text_has_word(servers, text_base_name(words.items[i - 1])))
                        i--;
                if (i == 0)
                        continue;
                for (; i < words.n; i++) {
                        const char *word = words.items[i];

                        if (*word && !word[1] && strchr(operators, *word))
                                break;
                        *vec_push(unit->arena, &arguments) = word;
                }
                command = (MysqlCommand){true, arguments,
                                         source_origin(unit->arena, (*each)->file, (*each)->line)};
        }
        return command;
}

/* ---- the start by a unit ---- */

static const UnitFile *read_unit(const MysqlStart *start, const char *name) {
        const UnitFile *unit = unit_file_read(start->arena, start->sources, name);

        return unit->fragment_path ? unit : NULL;
}

/* Returns the value of the first --NAME= on the command line. */
static const char *argument(const MysqlStart *start, const char *name) {
        const char *prefix = arena_printf(start->arena, "--%s=", name);

        VEC_FOREACH(word, &start->command.arguments)
                if (text_starts_with(*word, prefix))
                        return *word + strlen(prefix);
        return NULL;
}

MysqlStart mysql_start_read(Arena *arena, const MysqlProduct *product, const EngineTarget *target,
                            const Sources *sources) {
        MysqlStart start = {
                .arena = arena,
                .product = product,
                .target = target,
                .sources = sources,
                .files = {.problems = diags_in(arena)},
        };

        if (target->unit && !target->is_alone)
                start.unit = read_unit(&start, target->unit);
        else if (!target->is_alone)
                for (const char *const *name = product->units; *name && !start.unit; name++)
                        start.unit = read_unit(&start, *name);
        if (start.unit)
                start.command = read_command(start.unit);
        start.user = target->user ? target->user : unit_file_value(start.unit, "Service", "User");
        start.group_suffix = argument(&start, "defaults-group-suffix");
        if (!start.group_suffix)
                start.group_suffix = unit_file_environment(start.unit, "MYSQL_GROUP_SUFFIX", NULL);
        if (!start.group_suffix)
                start.group_suffix = "";
        return start;
}

/* ---- option files ---- */

/* Reads the file PATH, which must exist if REASON names it; NULL: it may be missing. */
static const char *read_file(MysqlStart *start, const char *path, const char *reason) {
        const char *unopened;

        if (*path != '/')
                return reason ? arena_printf(start->arena, "%s: '%s' is not an absolute path",
                                             reason, path)
                              : NULL;
        const char *wrong =
                mysql_files_read(start->arena, start->sources, path, &start->files, &unopened);

        return wrong || !unopened || !reason
                       ? wrong
                       : arena_printf(start->arena, "%s: %s %s", reason, path, unopened);
}

static const char *argument_reason(const MysqlStart *start, const char *name) {
        return arena_printf(start->arena, "%s: --%s=", start->command.origin, name);
}

static const char *read_default_files(MysqlStart *start) {
        Arena *arena = start->arena;
        const char *mysql_home = unit_file_environment(start->unit, "MYSQL_HOME", NULL);
        const char *extra = argument(start, "defaults-extra-file"), *wrong = NULL;
        Accounts accounts = accounts_read(arena, start->sources);
        const Account *user = start->user ? account_find_user(arena, &accounts, start->user) : NULL;

        for (const char *const *path = start->product->files; *path && !wrong; path++)
                wrong = read_file(start, *path, NULL);
        if (!wrong && mysql_home)
                wrong = read_file(start, arena_printf(arena, "%s/my.cnf", mysql_home), NULL);
        if (!wrong && extra)
                wrong = read_file(start, extra, argument_reason(start, "defaults-extra-file"));
        if (!wrong && user && user->home)
                wrong = read_file(start, arena_printf(arena, "%s/.my.cnf", user->home), NULL);
        return wrong;
}

const char *mysql_start_read_files(MysqlStart *start) {
        const char *only = argument(start, "defaults-file");

        if (start->target->config_file)
                return read_file(start, start->target->config_file, "ConfigFile=");
        const SourceNames *words = &start->command.arguments;

        if (words->n > 0 && text_equals(words->items[0], "--no-defaults"))
                return NULL;
        if (only)
                return read_file(start, only, argument_reason(start, "defaults-file"));
        return read_default_files(start);
}

/* ---- existing servers ---- */

/* Adds instances of the template that have a group in option files: [mysqld.reports]. */
void mysql_add_units(const Engine *engine, Arena *arena, const Sources *sources,
                     SourceNames *units) {
        const MysqlProduct *product = mysql_product(engine);
        const EngineTarget target = {};
        MysqlStart start = mysql_start_read(arena, product, &target, sources);

        if (read_default_files(&start))
                return;
        VEC_FOREACH(group, &start.files.groups)
                for (const char *const *name = product->groups; *name; name++) {
                        const char *suffix = *group + strlen(*name);

                        if (strncasecmp(*group, *name, strlen(*name)) != 0 ||
                            !text_starts_with(suffix, product->template_separator))
                                continue;
                        *vec_push(arena, units) =
                                arena_printf(arena, "%s%s.service", product->template_prefix,
                                             suffix + strlen(product->template_separator));
                        break;
                }
}

/* A server is absent if no option file has its group, or if its option file does not exist. */
const char *mysql_find_absent(const Engine *engine, Arena *arena, const EngineTarget *target,
                              const Sources *sources, bool has_disks UNUSED) {
        const MysqlProduct *product = mysql_product(engine);
        MysqlStart start = mysql_start_read(arena, product, target, sources);
        const char *only = argument(&start, "defaults-file");
        size_t n = strlen(start.group_suffix);

        if (!start.unit || !start.command.is_found)
                return NULL;
        if (only && source_read(sources, arena, only).error == -ENOENT)
                return arena_printf(arena, "has nothing to start (%s does not exist)", only);
        if (n == 0 || mysql_start_read_files(&start) ||
            VEC_ANY(group, &start.files.groups,
                    strlen(*group) > n &&
                            strcasecmp(*group + strlen(*group) - n, start.group_suffix) == 0))
                return NULL;
        return arena_printf(
                arena, "is for a server that does not exist (no option file has a group [%s%s])",
                product->group, start.group_suffix);
}
