/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How a server of the MySQL family finds its settings: in option files and their groups, on the unit's command line,
 * and in MySQL's persisted settings in the data directory. */

#include "base/text.h"
#include "engines/mysql/mysql_units.h"
#include "engines/reader.h"
#include "model/problem.h"

#include <jansson.h>
#include <string.h>
#include <strings.h>

/* The default of Debian's, Red Hat's and the vendors' packages. */
static const char default_data_directory[] = "/var/lib/mysql";

static const char persisted_file[] = "mysqld-auto.cnf";

typedef struct Server {
        Arena *arena;
        MysqlStart start;
        const char *version_origin;
        Gathered *ret;
} Server;

static void note(const Server *server, const char *file, const char *text, const char *remedy) {
        diags_report(&server->ret->problems, problem_of(PROBLEM_DATABASE_FILES, file, remedy), "%s",
                     text);
}

/* ---- unit and option files ---- */

static void note_unit(const Server *server) {
        const MysqlStart *start = &server->start;

        if (!start->unit && start->target->unit)
                note(server, NULL,
                     arena_printf(server->arena,
                                  "there is no unit %s, so that nothing is known of the options "
                                  "it passes",
                                  start->target->unit),
                     "correct Unit=");
        if (start->unit && !start->command.is_found)
                note(server, start->unit->fragment_path,
                     "no ExecStart= here names mariadbd or mysqld, so that nothing is known of "
                     "the options it passes",
                     NULL);
}

static const char *learn_files(Server *server) {
        const char *wrong = mysql_start_read_files(&server->start);

        if (wrong)
                return wrong;
        if (server->start.files.paths.n == 0 && !server->start.unit)
                return arena_printf(server->arena,
                                    "neither %s nor an option file such as %s is there; write "
                                    "Unit= or ConfigFile=",
                                    server->start.target->unit ? server->start.target->unit
                                                               : server->start.product->units[0],
                                    server->start.product->files[0]);
        if (server->start.files.paths.n > 0)
                server->ret->config_file = server->start.files.paths.items[0];
        diags_add_all(&server->ret->problems, &server->start.files.problems);
        return NULL;
}

/* ---- groups ---- */

typedef enum GroupUse {
        GROUP_FOREIGN,
        GROUP_READ,
        GROUP_GUESSED, /* of a version, while the server's version is not known */
} GroupUse;

/* "10.11" of "10.11.6". */
static char *base_version(Arena *arena, const char *version) {
        const char *point = strchr(version, '.');

        return arena_strndup(arena, version,
                             point ? (size_t) (point - version) + 1 + strcspn(point + 1, ".")
                                   : strlen(version));
}

static GroupUse use_of_plain(const Server *server, const char *group, const char *version) {
        for (const char *const *name = server->start.product->groups; *name; name++)
                if (strcasecmp(group, *name) == 0)
                        return GROUP_READ;
        for (const char *const *name = server->start.product->versioned_groups; *name; name++) {
                size_t n = strlen(*name);

                if (strncasecmp(group, *name, n) != 0 || group[n] != '-')
                        continue;
                if (!version)
                        return GROUP_GUESSED;
                return text_equals(group + n + 1, base_version(server->arena, version))
                               ? GROUP_READ
                               : GROUP_FOREIGN;
        }
        return GROUP_FOREIGN;
}

/* With a suffix, the server reads the groups with the suffix and without it. */
static GroupUse use_of_group(const Server *server, const char *group, const char *version) {
        size_t length = strlen(group), n = strlen(server->start.group_suffix);
        GroupUse use = use_of_plain(server, group, version);

        if (use != GROUP_FOREIGN || n == 0 || length < n ||
            strcasecmp(group + length - n, server->start.group_suffix) != 0)
                return use;
        return use_of_plain(server, arena_strndup(server->arena, group, length - n), version);
}

/* ---- settings ---- */

/* Returns the settings of files and command line; of groups with a version, only those of VERSION. If VERSION is NULL
 * and MAY_GUESS, all such groups count, and a problem is noted. */
static Settings collect(const Server *server, const char *version, bool may_guess) {
        const MysqlNames *names = &server->start.product->names;
        const SourceNames *words = &server->start.command.arguments;
        MysqlOptions options = mysql_options_of_words(server->arena, words->items, words->n, names,
                                                      server->start.command.origin);
        Settings settings = {};

        VEC_FOREACH(option, &server->start.files.options) {
                GroupUse use = use_of_group(server, option->group, version);

                if (use == GROUP_FOREIGN || (use == GROUP_GUESSED && !may_guess))
                        continue;
                if (mysql_option_set(server->arena, option, names, &settings) &&
                    use == GROUP_GUESSED)
                        note(server, NULL,
                             arena_printf(server->arena,
                                          "%s: the version of %s is not known, so that [%s] is "
                                          "taken for its own",
                                          option->origin, server->start.product->title,
                                          option->group),
                             NULL);
        }
        VEC_FOREACH(option, &options)
                mysql_option_set(server->arena, option, names, &settings);
        return settings;
}

static const char *value_of(const Settings *settings, const char *name) {
        const Setting *setting = settings_find(settings, name);

        return setting ? setting->value : NULL;
}

static const char *find_data_directory(const Server *server, const Settings *settings) {
        const char *path = value_of(settings, "datadir");

        if (server->start.target->data_directory)
                return server->start.target->data_directory;
        if (!path || *path != '/')
                return default_data_directory;
        return text_without_slashes(server->arena, path);
}

/* ---- the version ---- */

/* Returns the leading digits and points; NULL if they are no version, such as "10" and "11.". */
static const char *leading_version(Arena *arena, const char *text) {
        const char *version = arena_strndup(arena, text, strspn(text, "0123456789."));
        const char *point = strchr(version, '.');
        Version parsed;

        if (!point || !text_is_digit(point[1]) || parse_version(version, &parsed) < 0)
                return NULL;
        return version;
}

static void free_json(json_t **json) {
        json_decref(*json);
}

/* Returns the version of the last entry of MySQL's mysql_upgrade_history. */
static const char *history_version(Arena *arena, const SourceText *text) {
        CLEANUP(free_json) json_t *root = json_loadb(text->text, text->size, 0, NULL);
        const json_t *history = json_object_get(root, "upgrade_history");
        const json_t *last = json_array_get(history, json_array_size(history) - 1);
        const char *version = json_string_value(json_object_get(last, "version"));

        return version ? leading_version(arena, version) : NULL;
}

/* The upgrade programs and the server itself write it: "10.11.6-MariaDB". It can be older than the server. */
static const char *version_of_data(const Server *server, const char *data_directory,
                                   const char **ret_origin) {
        for (const char *const *name = server->start.product->version_files; *name; name++) {
                const char *path = arena_printf(server->arena, "%s/%s", data_directory, *name);
                SourceText text = source_read(server->start.sources, server->arena, path);
                const char *version = NULL;

                if (text.error == 0)
                        version = *text.text == '{' ? history_version(server->arena, &text)
                                                    : leading_version(server->arena, text.text);
                *ret_origin = path;
                if (version)
                        return version;
        }
        return NULL;
}

/* "MariaDB 10.11.19 database server": the packages write their version into the unit. */
static const char *version_of_unit(const Server *server, const char **ret_origin) {
        const UnitAssignment *assignment =
                unit_file_find(server->start.unit, "Unit", "Description");
        const char *prefix = arena_printf(server->arena, "%s ", server->start.product->title);

        if (!assignment || !text_starts_with(assignment->value, prefix))
                return NULL;
        *ret_origin = source_origin(server->arena, assignment->file, assignment->line);
        return leading_version(server->arena, assignment->value + strlen(prefix));
}

/* ---- persisted settings ---- */

enum { PERSISTED_DEPTH_MAX = 4 };

/* Every object with a "Value" is a variable, in any section: sections differ between versions of the file. */
static void add_persisted(const Server *server, json_t *json, const char *path, unsigned depth,
                          Settings *settings) {
        const char *key;
        json_t *item;

        json_object_foreach(json, key, item) {
                const MysqlOption option = {
                        .name = key,
                        .value = json_string_value(json_object_get(item, "Value")),
                        .origin = path,
                };

                if (option.value)
                        mysql_option_set(server->arena, &option, &server->start.product->names,
                                         settings);
                else if (depth < PERSISTED_DEPTH_MAX)
                        add_persisted(server, item, path, depth + 1, settings);
        }
}

static const char *read_persisted(const Server *server, const char *data_directory,
                                  Settings *settings) {
        const char *path = arena_printf(server->arena, "%s/%s", data_directory, persisted_file);
        SourceText text = source_read(server->start.sources, server->arena, path);
        CLEANUP(free_json) json_t *root = NULL;
        SourceNames names = {};
        json_error_t error;

        if (text.error == -ENOENT || text.error == -ENOTDIR) {
                if (server->start.sources->list(server->start.sources, server->arena,
                                                data_directory, &names) < 0)
                        note(server, data_directory,
                             "the data directory cannot be read, so that nothing is known of "
                             "settings persisted there",
                             "correct DataDirectory=, or mount it before hugeplan starts");
                return NULL;
        }
        if (text.error < 0)
                return arena_printf(server->arena, "%s: cannot be read: %s", path,
                                    strerror(-text.error));
        root = json_loadb(text.text, text.size, 0, &error);
        if (!json_is_object(root))
                return arena_printf(server->arena, "%s: not the JSON that MySQL writes", path);
        add_persisted(server, root, path, 0, settings);
        return NULL;
}

/* ---- large pages ---- */

/* Returns the last file with settings of the server. */
static const char *best_file(const Server *server) {
        const char *best = server->ret->config_file;

        VEC_FOREACH(option, &server->start.files.options)
                if (use_of_group(server, option->group, server->ret->version) == GROUP_READ)
                        best = arena_strndup(
                                server->arena, option->origin,
                                (size_t) (strrchr(option->origin, ':') - option->origin));
        return best ? best : server->start.product->files[0];
}

static const char *check_large_pages(const Server *server) {
        const Setting *setting = settings_find(&server->ret->settings, "large_pages");
        const MysqlProduct *product = server->start.product;

        if (!setting)
                return arena_printf(server->arena,
                                    "large_pages is not set, so that %s takes no huge pages and "
                                    "the reservation would lie idle; add large-pages to [%s] in %s",
                                    product->title, product->group, best_file(server));
        if (!text_equals(setting->value, "ON"))
                return arena_printf(server->arena,
                                    "large_pages (%s) is off for %s, which knows 1, ON and TRUE "
                                    "only, so that the reservation would lie idle; write "
                                    "large-pages=ON",
                                    setting->origin, product->title);
        return NULL;
}

/* ---- all of it ---- */

static const char *learn_settings(Server *server) {
        Gathered *ret = server->ret;
        const char *origin = NULL, *wrong = NULL;
        const char *of_unit = version_of_unit(server, &origin);
        bool is_alone = server->start.target->is_alone;
        Settings settings = collect(server, of_unit, false);

        ret->is_read = ret->config_file || settings.n > 0;
        ret->data_directory = find_data_directory(server, &settings);
        /* Red Hat's units say "10.11": the patch level comes from the data directory, if that has the same series. */
        const char *data_origin = NULL;
        const char *of_data = is_alone ? NULL
                                       : version_of_data(server, ret->data_directory, &data_origin);

        ret->version = of_unit;
        server->version_origin = origin;
        if (of_data && (!of_unit || text_equals(of_unit, base_version(server->arena, of_data)))) {
                ret->version = of_data;
                server->version_origin = data_origin;
        }
        if (!of_unit)
                settings = collect(server, ret->version, true);
        if (server->start.product->persists && !is_alone &&
            !text_equals(value_of(&settings, "persisted_globals_load"), "OFF"))
                wrong = read_persisted(server, ret->data_directory, &settings);
        if (ret->version)
                settings_add(server->arena, &settings, "server_version", ret->version,
                             server->version_origin);
        ret->user = server->start.user ? server->start.user : value_of(&settings, "user");
        ret->settings = settings;
        return wrong;
}

/* If large_pages is off, returns a sentence, because no server would use the reserved pages. */
static const char *gather(Arena *arena, const Engine *engine, const EngineTarget *target,
                          const Sources *sources, Gathered *ret) {
        Server server = {
                .arena = arena,
                .start = mysql_start_read(arena, mysql_product(engine), target, sources),
                .ret = ret,
        };
        const char *wrong;

        *ret = (Gathered){.problems = diags_in(arena)};
        note_unit(&server);
        wrong = learn_files(&server);
        if (!wrong)
                wrong = learn_settings(&server);
        if (wrong)
                return wrong;
        wrong = check_large_pages(&server);
        if (wrong && target->is_alone) /* its size is still wanted */
                note(&server, target->config_file, wrong, NULL);
        return target->is_alone ? NULL : wrong;
}

/* ---- what is read ---- */

/* Words of option files and command lines of both products. */
static Reads reads(const Engine *engine, const char *word) {
        const MysqlProduct *product = mysql_product(engine);
        const char *const *groups = product->groups;

        for (; *groups; groups++) { /* "mysqld.reports", "mysqld-10.11", "mysqld1" */
                const char *rest = word + strlen(*groups);

                if (text_starts_with(word, *groups) && (!*rest || strchr("-.0123456789", *rest)))
                        return READS_WORD;
        }
        if (text_has_word("include includedir memlock innodb_buffer_pool_size_max", word))
                return READS_VALUE;
        if (text_has_word("defaults-file defaults-extra-file defaults-group-suffix", word) ||
            text_equals(word, product->title))
                return READS_NEXT;
        if (text_has_word("no-defaults MYSQL_GROUP_SUFFIX MYSQL_HOME", word))
                return READS_WORD;
        return mysql_option_reads(&product->names, word);
}

/* "mariadbd  Ver 10.11.18-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)" */
static const char version_mark[] = "Ver ";

/* The contents of its option files do not matter. */
static const char version_option[] = "--no-defaults";

/* ---- MariaDB ---- */

static const EngineFallback mariadb_fallback = {
        "large_pages", NULL,
        "large_pages falls back silently: the key caches come first, and the part of its buffer pool for which it found none at its start is in small pages"};

const EngineReader reader_mariadb = {
        .gather = gather,
        .reads = reads,
        .whole_files = "mariadb_upgrade_info mysql_upgrade_info",
        .version_mark = version_mark,
        .version_programs = "mariadbd mysqld", /* mysqld up to 10.4.5 */
        .version_option = version_option,
        .fallbacks = &mariadb_fallback,
        .n_fallbacks = 1,
};

/* ---- MySQL ---- */

static const EngineFallback mysql_fallback = {
        "large_pages", NULL,
        "large_pages falls back chunk by chunk; its log has a warning for each (MY-012681)"};

const EngineReader reader_mysql = {
        .gather = gather,
        .reads = reads,
        .whole_files = "mysql_upgrade_history mysql_upgrade_info",
        .version_mark = version_mark,
        .version_programs = "mysqld",
        .version_option = version_option,
        .fallbacks = &mysql_fallback,
        .n_fallbacks = 1,
};
