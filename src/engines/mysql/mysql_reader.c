/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How a server of the MySQL family finds its settings: in option files and their groups, on the unit's command line,
 * and in MySQL's persisted settings in the data directory. */

#include "base/text.h"
#include "engines/mysql/mysql.h"
#include "engines/reader.h"
#include "model/problem.h"

#include <jansson.h>
#include <string.h>
#include <strings.h>

/* The default of Debian's, Red Hat's and the vendors' packages. */
static const char default_data_directory[] = "/var/lib/mysql";

static const char persisted_file[] = "mysqld-auto.cnf";

static void note(Gathered *ret, const char *file, const char *text, const char *remedy) {
        diags_report(&ret->problems, problem_of(PROBLEM_DATABASE_FILES, file, remedy), "%s", text);
}

/* ---- groups ---- */

/* "10.11" of "10.11.6". */
static char *base_version(Arena *arena, const char *version) {
        const char *point = strchr(version, '.');

        return arena_strndup(arena, version,
                             point ? (size_t) (point - version) + 1 + strcspn(point + 1, ".")
                                   : strlen(version));
}

/* Returns whether the server reads the group. If VERSION is NULL, groups of a version are read if MAY_GUESS. */
static bool reads_plain(const MysqlStart *start, const char *group, const char *version,
                        bool may_guess) {
        for (const char *const *name = start->product->groups; *name; name++)
                if (strcasecmp(group, *name) == 0)
                        return true;
        for (const char *const *name = start->product->versioned_groups; *name; name++) {
                size_t n = strlen(*name);

                if (strncasecmp(group, *name, n) == 0 && group[n] == '-')
                        return version ? text_equals(group + n + 1,
                                                     base_version(start->arena, version))
                                       : may_guess;
        }
        return false;
}

/* With a suffix, the server reads the groups with the suffix and without it. */
static bool reads_group(const MysqlStart *start, const char *group, const char *version,
                        bool may_guess) {
        size_t length = strlen(group), n = strlen(start->group_suffix);

        if (reads_plain(start, group, version, may_guess))
                return true;
        return n > 0 && length >= n && strcasecmp(group + length - n, start->group_suffix) == 0 &&
               reads_plain(start, arena_strndup(start->arena, group, length - n), version,
                           may_guess);
}

/* ---- settings ---- */

/* Returns the settings of files and command line. */
static Settings collect(const MysqlStart *start, const char *version, bool may_guess) {
        const MysqlNames *names = &start->product->names;
        const SourceNames *words = &start->command.arguments;
        MysqlOptions options = mysql_options_of_words(start->arena, words->items, words->n, names,
                                                      start->command.origin);
        Settings settings = {};

        VEC_FOREACH(option, &start->files.options)
                if (reads_group(start, option->group, version, may_guess))
                        mysql_option_set(start->arena, option, names, &settings);
        VEC_FOREACH(option, &options)
                mysql_option_set(start->arena, option, names, &settings);
        return settings;
}

static const char *value_of(const Settings *settings, const char *name) {
        const Setting *setting = settings_find(settings, name);

        return setting ? setting->value : NULL;
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

/* The upgrade programs and the server itself write it: "10.11.6-MariaDB", or MySQL's mysql_upgrade_history, whose last
 * entry counts. It can be older than the server. */
static const char *version_of_data(const MysqlStart *start, const char *data_directory,
                                   const char **ret_origin) {
        const char *version = NULL;

        for (const char *const *name = start->product->version_files; *name && !version; name++) {
                *ret_origin = arena_printf(start->arena, "%s/%s", data_directory, *name);
                SourceText text = source_read(start->sources, start->arena, *ret_origin);

                if (text.error < 0)
                        continue;
                json_auto_t *root = json_loadb(text.text, text.size, 0, NULL);
                const json_t *history = json_object_get(root, "upgrade_history");
                const json_t *last = json_array_get(history, json_array_size(history) - 1);
                const char *written = *text.text == '{'
                                              ? json_string_value(json_object_get(last, "version"))
                                              : text.text;

                version = written ? leading_version(start->arena, written) : NULL;
        }
        return version;
}

/* ---- persisted settings ---- */

enum { PERSISTED_DEPTH_MAX = 4 };

/* Every object with a "Value" is a variable, in any section: sections differ between versions of the file. */
static void add_persisted(const MysqlStart *start, json_t *json, const char *path, unsigned depth,
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
                        mysql_option_set(start->arena, &option, &start->product->names, settings);
                else if (depth < PERSISTED_DEPTH_MAX)
                        add_persisted(start, item, path, depth + 1, settings);
        }
}

static const char *read_persisted(const MysqlStart *start, const char *data_directory,
                                  Settings *settings, Gathered *ret) {
        Arena *arena = start->arena;
        const Sources *sources = start->sources;
        const char *path = arena_printf(arena, "%s/%s", data_directory, persisted_file);
        SourceText text = source_read(sources, arena, path);
        SourceNames names = {};

        if (text.error == -ENOENT || text.error == -ENOTDIR) {
                if (sources->list(sources, arena, data_directory, &names) < 0)
                        note(ret, data_directory,
                             "the data directory cannot be read, so settings persisted there "
                             "are not known",
                             "correct DataDirectory=, or mount it before hugeplan starts");
                return NULL;
        }
        if (text.error < 0)
                return arena_printf(arena, "%s: cannot be read: %s", path, strerror(-text.error));
        json_auto_t *root = json_loadb(text.text, text.size, 0, NULL);

        if (!json_is_object(root))
                return arena_printf(arena, "%s: not the JSON that MySQL writes", path);
        add_persisted(start, root, path, 0, settings);
        return NULL;
}

/* ---- large pages ---- */

static const char *check_large_pages(const MysqlStart *start, const Gathered *gathered) {
        const Setting *setting = settings_find(&gathered->settings, "large_pages");
        const MysqlProduct *product = start->product;
        const char *best = gathered->config_file; /* the last file with settings of the server */

        VEC_FOREACH(option, &start->files.options)
                if (reads_group(start, option->group, gathered->version, false))
                        best = arena_strdup_to(start->arena, option->origin,
                                               strrchr(option->origin, ':'));
        if (!setting)
                return arena_printf(start->arena,
                                    "large_pages is not set, so %s takes no huge pages and the "
                                    "reservation would be idle; add large-pages to [%s] in %s",
                                    product->title, product->group,
                                    best ? best : product->files[0]);
        if (!text_equals(setting->value, "ON"))
                return arena_printf(start->arena,
                                    "large_pages (%s) is off for %s, which accepts 1, ON and TRUE "
                                    "only, so the reservation would be idle; write large-pages=ON",
                                    setting->origin, product->title);
        return NULL;
}

/* ---- all of it ---- */

static const char *learn_settings(const MysqlStart *start, Gathered *ret) {
        Arena *arena = start->arena;
        const EngineTarget *target = start->target;
        const MysqlProduct *product = start->product;
        /* "MariaDB 10.11.19 database server": the packages write their version into the unit. */
        const UnitAssignment *title = unit_file_find(start->unit, "Unit", "Description");
        const char *prefix = arena_printf(arena, "%s ", product->title);
        const char *origin = NULL, *of_unit = NULL, *of_data = NULL, *data_origin = NULL;

        if (title && text_starts_with(title->value, prefix)) {
                origin = source_origin(arena, title->file, title->line);
                of_unit = leading_version(arena, title->value + strlen(prefix));
        }
        Settings settings = collect(start, of_unit, false);
        const char *path = value_of(&settings, "datadir");

        ret->is_read = ret->config_file || settings.n > 0;
        ret->data_directory = target->data_directory ? target->data_directory
                              : path && *path == '/' ? text_without_slashes(arena, path)
                                                     : default_data_directory;
        if (!target->is_alone)
                of_data = version_of_data(start, ret->data_directory, &data_origin);
        /* Red Hat's units say "10.11": the patch level comes from the data directory, if that has the same series. */
        if (of_data && of_unit && !text_equals(of_unit, base_version(arena, of_data)))
                of_data = NULL;
        ret->version = of_data ? of_data : of_unit;
        if (!of_unit)
                settings = collect(start, ret->version, true);
        const char *wrong = NULL;

        if (product->persists && !target->is_alone &&
            !text_equals(value_of(&settings, "persisted_globals_load"), "OFF"))
                wrong = read_persisted(start, ret->data_directory, &settings, ret);
        if (ret->version)
                settings_add(arena, &settings, "server_version", ret->version,
                             of_data ? data_origin : origin);
        ret->user = start->user ? start->user : value_of(&settings, "user");
        ret->settings = settings;
        return wrong;
}

/* If large_pages is off, returns a sentence, because no server would use the reserved pages. */
static const char *gather(Arena *arena, const Engine *engine, const EngineTarget *target,
                          const Sources *sources, Gathered *ret) {
        MysqlStart start = mysql_start_read(arena, mysql_product(engine), target, sources);

        if (!start.unit && target->unit)
                note(ret, NULL,
                     arena_printf(
                             arena,
                             "there is no unit %s, so the options that it passes are not known",
                             target->unit),
                     "correct Unit=");
        if (start.unit && !start.command.is_found)
                note(ret, start.unit->fragment_path,
                     "no ExecStart= names mariadbd or mysqld, so the options that it "
                     "passes are not known",
                     NULL);
        const char *wrong = mysql_start_read_files(&start);

        if (!wrong && start.files.paths.n == 0 && !start.unit)
                wrong = arena_printf(
                        arena,
                        "neither %s nor an option file such as %s exists; write Unit= or "
                        "ConfigFile=",
                        target->unit ? target->unit : start.product->units[0],
                        start.product->files[0]);
        if (wrong)
                return wrong;
        if (start.files.paths.n > 0)
                ret->config_file = start.files.paths.items[0];
        diags_add_all(&ret->problems, &start.files.problems);
        wrong = learn_settings(&start, ret);
        if (wrong)
                return wrong;
        wrong = check_large_pages(&start, ret);
        if (wrong && target->is_alone) /* its size is still wanted */
                note(ret, target->config_file, wrong, NULL);
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
        if (text_has_word("include includedir MYSQL_GROUP_SUFFIX MYSQL_HOME", word))
                return READS_VALUE;
        if (text_has_word("defaults-file defaults-extra-file defaults-group-suffix", word) ||
            text_equals(word, product->title))
                return READS_NEXT;
        return text_equals(word, "no-defaults") ? READS_WORD
                                                : mysql_option_reads(&product->names, word);
}

/* ---- MariaDB ---- */

static const EngineFallback mariadb_fallback = {
        "large_pages", NULL,
        "large_pages falls back silently: the key caches are allocated first, and the part of its buffer pool without huge pages at its start is in small pages"};

const EngineReader reader_mariadb = {
        .add_units = mysql_add_units,
        .find_absent = mysql_find_absent,
        .gather = gather,
        .reads = reads,
        .whole_files = "mariadb_upgrade_info mysql_upgrade_info",
        .version_programs = "mariadbd mysqld", /* mysqld up to 10.4.5 */
        .version_mark = "Ver ", /* "mariadbd  Ver 10.11.18-MariaDB-0+deb12u1 for debian-..." */
        .version_option = "--no-defaults", /* whatever its option files say */
        .fallbacks = &mariadb_fallback,
        .n_fallbacks = 1,
};

/* ---- MySQL ---- */

static const EngineFallback mysql_fallback = {
        "large_pages", NULL,
        "large_pages falls back chunk by chunk; its log has a warning for each (MY-012681)"};

const EngineReader reader_mysql = {
        .add_units = mysql_add_units,
        .find_absent = mysql_find_absent,
        .gather = gather,
        .reads = reads,
        .whole_files = "mysql_upgrade_history mysql_upgrade_info",
        .version_programs = "mysqld",
        .version_mark = "Ver ",
        .version_option = "--no-defaults",
        .fallbacks = &mysql_fallback,
        .n_fallbacks = 1,
};
