/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/mysql/mysql_server.h"

#include "base/text.h"
#include "engines/mysql/mysql_command.h"
#include "model/problem.h"
#include "read/accounts.h"

#include <jansson.h>
#include <string.h>
#include <strings.h>

/* Of Debian's and Red Hat's packages, and of the vendors'. */
static const char default_data_directory[] = "/var/lib/mysql";

static const char persisted_file[] = "mysqld-auto.cnf";

typedef struct Server {
        Arena *arena;
        const MysqlProduct *product;
        const EngineTarget *target;
        const Sources *sources;
        const UnitFile *unit; /* NULL: there is none */
        MysqlCommand command;
        MysqlFiles files;
        const char *group_suffix; /* "" for none */
        const char *version_origin;
        const char *user; /* whose ~/.my.cnf is read; NULL: not known */
        Gathered *ret;
} Server;

static void note(const Server *server, const char *file, const char *text, const char *remedy) {
        diags_add(&server->ret->problems, &(Diag){.severity = SEVERITY_WARNING,
                                                  .id = problem_id(PROBLEM_DATABASE_FILES),
                                                  .file = file,
                                                  .text = text,
                                                  .remedy = remedy});
}

/* ---- the unit ---- */

static const UnitFile *read_unit(const Server *server, const char *name) {
        const UnitFile *unit = unit_file_read(server->arena, server->sources, name);

        return unit->fragment_path ? unit : NULL;
}

static const UnitFile *find_unit(const Server *server) {
        const UnitFile *unit = NULL;

        if (server->target->unit)
                return read_unit(server, server->target->unit);
        for (const char *const *name = server->product->units; *name && !unit; name++)
                unit = read_unit(server, *name);
        return unit;
}

static void learn_unit(Server *server) {
        const char *target_unit = server->target->unit;

        server->unit = find_unit(server);
        if (server->unit)
                server->command = mysql_command_read(server->arena, server->unit, server->sources);
        else if (target_unit)
                note(server, NULL,
                     arena_printf(server->arena,
                                  "there is no unit %s, so that nothing is known of the options "
                                  "it passes",
                                  target_unit),
                     "correct Unit=");
        if (server->unit && !server->command.is_found)
                note(server, server->unit->fragment_path,
                     "no ExecStart= here names mariadbd or mysqld, so that nothing is known of "
                     "the options it passes",
                     NULL);
        server->user = server->target->user ? server->target->user
                                            : unit_file_value(server->unit, "Service", "User");
}

/* The value of the first --NAME= on the command line. */
static const char *argument(const Server *server, const char *name) {
        const char *prefix = arena_printf(server->arena, "--%s=", name);

        VEC_FOREACH(word, &server->command.arguments)
                if (text_starts_with(*word, prefix))
                        return *word + strlen(prefix);
        return NULL;
}

/* ---- option files ---- */

static const char *read_if_there(Server *server, const char *path) {
        bool exists;

        return mysql_files_read(server->arena, server->sources, path, &server->files, &exists);
}

/* A file that was asked for by REASON. */
static const char *read_named(Server *server, const char *path, const char *reason) {
        const char *wrong;
        bool exists = false;

        if (*path != '/')
                return arena_printf(server->arena, "%s: '%s' is no absolute path", reason, path);
        wrong = mysql_files_read(server->arena, server->sources, path, &server->files, &exists);
        if (wrong || exists)
                return wrong;
        return arena_printf(server->arena, "%s: %s is not there", reason, path);
}

static const char *argument_reason(const Server *server, const char *name) {
        return arena_printf(server->arena, "%s: --%s=", server->command.origin, name);
}

/* The home directory of the server's user, NULL where it is not known. */
static const char *user_home(const Server *server) {
        Accounts accounts = accounts_read(server->arena, server->sources);
        const Account *user =
                server->user ? account_find_user(server->arena, &accounts, server->user) : NULL;

        return user ? user->home : NULL;
}

static const char *read_default_files(Server *server) {
        const char *mysql_home = unit_file_environment(server->arena, server->unit, server->sources,
                                                       "MYSQL_HOME", NULL);
        const char *extra = argument(server, "defaults-extra-file"), *home = user_home(server);
        const char *wrong = NULL;

        for (const char *const *path = server->product->files; *path && !wrong; path++)
                wrong = read_if_there(server, *path);
        if (!wrong && mysql_home && *mysql_home == '/')
                wrong = read_if_there(server, arena_printf(server->arena, "%s/my.cnf", mysql_home));
        if (!wrong && extra)
                wrong = read_named(server, extra, argument_reason(server, "defaults-extra-file"));
        if (!wrong && home)
                wrong = read_if_there(server, arena_printf(server->arena, "%s/.my.cnf", home));
        return wrong;
}

static const char *read_files(Server *server) {
        const char *only = argument(server, "defaults-file");

        if (server->target->config_file)
                return read_named(server, server->target->config_file, "ConfigFile=");
        const UnitWords *words = &server->command.arguments;

        if (words->n > 0 && text_equals(words->items[0], "--no-defaults"))
                return NULL;
        if (only)
                return read_named(server, only, argument_reason(server, "defaults-file"));
        return read_default_files(server);
}

static const char *learn_files(Server *server) {
        const char *wrong = read_files(server);

        if (wrong)
                return wrong;
        if (server->files.paths.n == 0 && !server->unit)
                return arena_printf(server->arena,
                                    "neither %s nor an option file such as %s is there; write "
                                    "Unit= or ConfigFile=",
                                    server->target->unit ? server->target->unit
                                                         : server->product->units[0],
                                    server->product->files[0]);
        if (server->files.paths.n > 0)
                server->ret->config_file = server->files.paths.items[0];
        diags_add_all(&server->ret->problems, &server->files.problems);
        return NULL;
}

/* ---- groups ---- */

typedef enum GroupUse {
        GROUP_FOREIGN,
        GROUP_READ,
        GROUP_GUESSED, /* of some version, and the server's is not known */
} GroupUse;

/* "10.11" of "10.11.6". */
static char *base_version(Arena *arena, const char *version) {
        const char *point = strchr(version, '.');

        return arena_strndup(arena, version,
                             point ? (size_t) (point - version) + 1 + strcspn(point + 1, ".")
                                   : strlen(version));
}

static GroupUse use_of_plain(const Server *server, const char *group, const char *version) {
        for (const char *const *name = server->product->groups; *name; name++)
                if (strcasecmp(group, *name) == 0)
                        return GROUP_READ;
        for (const char *const *name = server->product->versioned_groups; *name; name++) {
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

/* With a suffix, the groups are read with it and without. */
static GroupUse use_of_group(const Server *server, const char *group, const char *version) {
        size_t length = strlen(group), n = strlen(server->group_suffix);
        GroupUse use = use_of_plain(server, group, version);

        if (use != GROUP_FOREIGN || n == 0 || length < n ||
            strcasecmp(group + length - n, server->group_suffix) != 0)
                return use;
        return use_of_plain(server, arena_strndup(server->arena, group, length - n), version);
}

/* ---- settings ---- */

/* What files and command line set; of groups with a version those of VERSION only. Where that is
 * NULL, all of them, which is noted, if MAY_GUESS. */
static Settings collect(const Server *server, const char *version, bool may_guess) {
        const MysqlNames *names = &server->product->names;
        const UnitWords *words = &server->command.arguments;
        MysqlOptions options = mysql_options_of_words(server->arena, words->items, words->n, names,
                                                      server->command.origin);
        Settings settings = {};

        VEC_FOREACH(option, &server->files.options) {
                GroupUse use = use_of_group(server, option->group, version);

                if (use == GROUP_FOREIGN || (use == GROUP_GUESSED && !may_guess))
                        continue;
                if (mysql_option_set(server->arena, option, names, &settings) &&
                    use == GROUP_GUESSED)
                        note(server, NULL,
                             arena_printf(server->arena,
                                          "%s: the version of %s is not known, so that [%s] is "
                                          "taken for its own",
                                          option->origin, server->product->title, option->group),
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

        if (server->target->data_directory)
                return server->target->data_directory;
        if (!path || *path != '/')
                return default_data_directory;
        return text_without_slashes(server->arena, path);
}

/* ---- the version ---- */

/* The digits and points at the beginning; NULL where they are no version, as in "10" and in "11.". */
static const char *leading_version(Arena *arena, const char *text) {
        const char *version = arena_strndup(arena, text, strspn(text, "0123456789."));
        const char *point = strchr(version, '.');
        uint64_t major, minor;

        if (!point || point[1] < '0' || point[1] > '9' ||
            parse_version(version, &major, &minor) < 0)
                return NULL;
        return version;
}

static void free_json(json_t **json) {
        json_decref(*json);
}

/* Of MySQL's mysql_upgrade_history: the last entry. */
static const char *history_version(Arena *arena, const SourceText *text) {
        CLEANUP(free_json) json_t *root = json_loadb(text->text, text->size, 0, NULL);
        const json_t *history = json_object_get(root, "upgrade_history");
        const json_t *last = json_array_get(history, json_array_size(history) - 1);
        const char *version = json_string_value(json_object_get(last, "version"));

        return version ? leading_version(arena, version) : NULL;
}

/* Written by the upgrade programs and by the server itself: "10.11.6-MariaDB". It can be older than
 * the server. */
static const char *version_of_data(const Server *server, const char *data_directory,
                                   const char **ret_origin) {
        for (const char *const *name = server->product->version_files; *name; name++) {
                const char *path = arena_printf(server->arena, "%s/%s", data_directory, *name);
                SourceText text = source_read(server->sources, server->arena, path);
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
        const UnitAssignment *assignment = unit_file_find(server->unit, "Unit", "Description");
        const char *prefix = arena_printf(server->arena, "%s ", server->product->title);

        if (!assignment || !text_starts_with(assignment->value, prefix))
                return NULL;
        *ret_origin = source_origin(server->arena, assignment->file, assignment->line);
        return leading_version(server->arena, assignment->value + strlen(prefix));
}

/* ---- persisted settings ---- */

enum { PERSISTED_DEPTH_MAX = 4 };

/* Every object with a "Value" is a variable, in whatever section the versions of the file have put
 * it. */
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
                        mysql_option_set(server->arena, &option, &server->product->names, settings);
                else if (depth < PERSISTED_DEPTH_MAX)
                        add_persisted(server, item, path, depth + 1, settings);
        }
}

static const char *read_persisted(const Server *server, const char *data_directory,
                                  Settings *settings) {
        const char *path = arena_printf(server->arena, "%s/%s", data_directory, persisted_file);
        SourceText text = source_read(server->sources, server->arena, path);
        CLEANUP(free_json) json_t *root = NULL;
        SourceNames names = {};
        json_error_t error;

        if (text.error == -ENOENT || text.error == -ENOTDIR) {
                if (server->sources->list(server->sources, server->arena, data_directory, &names) <
                    0)
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

/* The file where settings of the server are: of the last one that holds any. */
static const char *best_file(const Server *server) {
        const char *best = server->ret->config_file;

        VEC_FOREACH(option, &server->files.options)
                if (use_of_group(server, option->group, server->ret->version) == GROUP_READ)
                        best = arena_strndup(
                                server->arena, option->origin,
                                (size_t) (strrchr(option->origin, ':') - option->origin));
        return best ? best : server->product->files[0];
}

static const char *check_large_pages(const Server *server) {
        const Setting *setting = settings_find(&server->ret->settings, "large_pages");
        const MysqlProduct *product = server->product;

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
        Settings settings = collect(server, of_unit, false);

        ret->data_directory = find_data_directory(server, &settings);
        /* Red Hat's units say "10.11": the patch level comes from the data directory, if that is of
         * the same series. */
        const char *data_origin = NULL;
        const char *of_data = version_of_data(server, ret->data_directory, &data_origin);

        ret->version = of_unit;
        server->version_origin = origin;
        if (of_data && (!of_unit || text_equals(of_unit, base_version(server->arena, of_data)))) {
                ret->version = of_data;
                server->version_origin = data_origin;
        }
        if (!of_unit)
                settings = collect(server, ret->version, true);
        if (server->product->persists &&
            !text_equals(value_of(&settings, "persisted_globals_load"), "OFF"))
                wrong = read_persisted(server, ret->data_directory, &settings);
        if (ret->version)
                settings_add(server->arena, &settings, "server_version", ret->version,
                             server->version_origin);
        ret->user = server->user ? server->user : value_of(&settings, "user");
        ret->settings = settings;
        return wrong;
}

static Server make_server(Arena *arena, const MysqlProduct *product, const EngineTarget *target,
                          const Sources *sources, Gathered *ret) {
        Server server = {
                .arena = arena,
                .product = product,
                .target = target,
                .sources = sources,
                .files = {.problems = diags_in(arena)},
                .ret = ret,
        };

        *ret = (Gathered){.problems = diags_in(arena)};
        learn_unit(&server);
        server.group_suffix = argument(&server, "defaults-group-suffix");
        if (!server.group_suffix)
                server.group_suffix = unit_file_environment(arena, server.unit, sources,
                                                            "MYSQL_GROUP_SUFFIX", NULL);
        if (!server.group_suffix)
                server.group_suffix = "";
        return server;
}

const char *mysql_server_gather(Arena *arena, const MysqlProduct *product,
                                const EngineTarget *target, const Sources *sources, Gathered *ret) {
        Server server = make_server(arena, product, target, sources, ret);
        const char *wrong;

        wrong = learn_files(&server);
        if (!wrong)
                wrong = learn_settings(&server);
        return wrong ? wrong : check_large_pages(&server);
}

/* ---- whether it exists ---- */

/* What stands behind a group of servers in the group's name: ".reports" of "mysqld.reports"; NULL: it is
 * none of theirs. */
static const char *suffix_of(const MysqlProduct *product, const char *group) {
        for (const char *const *name = product->groups; *name; name++) {
                size_t n = strlen(*name);

                if (strncasecmp(group, *name, n) == 0 &&
                    text_starts_with(group + n, product->template_separator))
                        return group + n;
        }
        return NULL;
}

void mysql_server_add_units(Arena *arena, const MysqlProduct *product, const Sources *sources,
                            SourceNames *units) {
        const EngineTarget target = {};
        Gathered ignored;
        Server server = make_server(arena, product, &target, sources, &ignored);

        if (read_default_files(&server))
                return;
        VEC_FOREACH(option, &server.files.options) {
                const char *suffix = suffix_of(product, option->group);

                if (suffix)
                        *vec_push(arena, units) =
                                arena_printf(arena, "%s%s.service", product->template_prefix,
                                             suffix + strlen(product->template_separator));
        }
}

static bool has_group(const Server *server) {
        size_t n = strlen(server->group_suffix);

        VEC_FOREACH(option, &server->files.options) {
                size_t length = strlen(option->group);

                if (length > n && strcasecmp(option->group + length - n, server->group_suffix) == 0)
                        return true;
        }
        return false;
}

const char *mysql_server_find_absent(Arena *arena, const MysqlProduct *product,
                                     const EngineTarget *target, const Sources *sources) {
        Gathered ignored;
        Server server = make_server(arena, product, target, sources, &ignored);
        const char *only = argument(&server, "defaults-file");

        if (!server.unit || !server.command.is_found)
                return NULL;
        if (only && source_read(sources, arena, only).error == -ENOENT)
                return arena_printf(arena, "%s has nothing to start (%s does not exist)",
                                    target->unit, only);
        if (!*server.group_suffix || read_files(&server) || has_group(&server))
                return NULL;
        return arena_printf(
                arena, "%s is for a server that there is not (no option file has a group [%s%s])",
                target->unit, product->group, server.group_suffix);
}
