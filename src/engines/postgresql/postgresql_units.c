/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/postgresql/postgresql.h"

#include "base/text.h"
#include "engines/reader.h"
#include "read/shell_words.h"

#include <string.h>

enum { WORDS_MAX = 1024, OPTS_BYTES_MAX = 128 << 10 };

typedef struct Reading {
        Arena *arena;
        const char *origin;
        PostgresqlCommand *command;
} Reading;

/* ---- options of the server ---- */

static void add_setting(const Reading *reading, const char *name, const char *value) {
        settings_add(reading->arena, &reading->command->settings, name, value, reading->origin);
}

static void add_option(const Reading *reading, char letter, const char *value) {
        const char *equals = strchr(value, '=');

        if (strchr("c-", letter) && equals) { /* "NAME=VALUE", with "-" for "_" in the name */
                char *name = arena_strdup_to(reading->arena, value, equals);

                for (char *at = name; *at; at++)
                        *at = *at == '-' ? '_' : *at;
                add_setting(reading, name, equals + 1);
        } else if (letter == 'B') {
                add_setting(reading, "shared_buffers", value);
        } else if (letter == 'N') {
                add_setting(reading, "max_connections", value);
        } else if (letter == 'D' && postgresql_is_path(value)) {
                reading->command->directory = value;
        }
}

/* Like getopt(3): letters may be combined, and a letter's value is in the same word or in the next. */
static void add_options(const Reading *reading, const char *const *words, size_t n) {
        static const char with_value[] = "BCDNSWcdfhkoprt-";

        for (size_t i = 0; i < n && !text_equals(words[i], "--"); i++) {
                if (*words[i] != '-')
                        continue;
                const char *letter = words[i] + 1;

                while (*letter && !strchr(with_value, *letter))
                        letter++;
                if (*letter && (letter[1] || i + 1 < n))
                        add_option(reading, *letter, letter[1] ? letter + 1 : words[++i]);
        }
}

void postgresql_command_add(Arena *arena, const char *line, const char *origin,
                            PostgresqlCommand *command) {
        static const char whitespace[] = " \t\n";
        SourceNames words = {};

        while (words.n < WORDS_MAX && *(line += strspn(line, whitespace)))
                *vec_push(arena, &words) = shell_take_word(arena, &line, whitespace, NULL);
        add_options(&(Reading){arena, origin, command}, words.items, words.n);
}

/* ---- pg_ctl and pg_ctlcluster ---- */

/* Returns the value of the option SHORT_NAME ("-o") or LONG_NAME ("--options") at words[*I], and moves *I if the value
 * is the next word; NULL: another option. */
static const char *option_value(const char *const *words, size_t n, size_t *i,
                                const char *short_name, const char *long_name) {
        const char *word = words[*i];
        size_t length = strlen(long_name);

        if (text_equals(word, short_name) || text_equals(word, long_name))
                return *i + 1 < n ? words[++*i] : NULL;
        if (text_starts_with(word, long_name) && word[length] == '=')
                return word + length + 1;
        return text_starts_with(word, short_name) ? word + strlen(short_name) : NULL;
}

static void add_launcher_options(const Reading *reading, const char *const *words, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const char *directory = option_value(words, n, &i, "-D", "--pgdata");
                const char *options = directory ? NULL
                                                : option_value(words, n, &i, "-o", "--options");

                if (directory)
                        add_option(reading, 'D', directory);
                else if (options)
                        postgresql_command_add(reading->arena, options, reading->origin,
                                               reading->command);
        }
}

/* ---- units ---- */

static const struct {
        const char *name;
        bool is_server;
        bool is_beside_server; /* postgres is in the same directory */
} programs[] = {
        {"postgres", true, true}, {"postmaster", true, true},      {"edb-postgres", true, true},
        {"pg_ctl", false, true},  {"pg_ctlcluster", false, false}, {"pg_autoctl", false, false},
};

/* The program may follow another, such as numactl. */
void postgresql_command_of_unit(const UnitFile *unit, PostgresqlCommand *ret) {
        UnitAssignments starts = unit_file_list(unit, "Service", "ExecStart");

        VEC_FOREACH(start, &starts) {
                SourceNames words = unit_file_command(unit, (*start)->value);
                const Reading reading = {unit->arena,
                                         source_origin(unit->arena, (*start)->file, (*start)->line),
                                         ret};

                VEC_FOREACH(word, &words) {
                        const typeof(*programs) *program =
                                ARRAY_FIND(each, programs, ARRAY_LEN(programs),
                                           text_equals(text_base_name(*word), each->name));
                        size_t n = (size_t) (words.items + words.n - word - 1);

                        if (!program)
                                continue;
                        if (program->is_beside_server && **word == '/')
                                ret->program = source_relative(unit->arena, *word, "postgres");
                        ret->is_server = program->is_server;
                        if (program->is_server)
                                add_options(&reading, word + 1, n);
                        else
                                add_launcher_options(&reading, word + 1, n);
                        return;
                }
        }
}

/* ---- postmaster.opts ---- */

/* PROGRAM "WORD" "WORD"...: the server does not escape quotes within a word. */
const char *postgresql_command_of_last_start(Arena *arena, const Sources *sources, const char *path,
                                             PostgresqlCommand *ret) {
        SourceText text = source_read(sources, arena, path);
        SourceLines lines = source_lines(&text);
        SourceNames words = {};

        if (text.error == -ENOENT)
                return NULL;
        if (text.error < 0)
                return arena_printf(arena, "%s: %s", path, reader_fault(arena, text.error));
        const char *line = source_line(arena, &lines);

        if (!line || *line != '/' || text.size > OPTS_BYTES_MAX || memchr(text.text, 0, text.size))
                return arena_printf(
                        arena,
                        "%s: is not what the server writes; start the server once, which "
                        "writes it again",
                        path);
        for (const char *quote = strstr(line, " \""); quote && words.n < WORDS_MAX;) {
                const char *start = quote + 2, *next = strstr(start, "\" \"");
                size_t length = next ? (size_t) (next - start) : strlen(start);

                if (!next && length > 0 && start[length - 1] == '"')
                        length--;
                *vec_push(arena, &words) = arena_strndup(arena, start, length);
                quote = next ? next + 1 : NULL;
        }
        add_options(&(Reading){arena, source_origin(arena, path, 1), ret}, words.items, words.n);
        return NULL;
}

/* ---- the start by a unit ---- */

static const char debian_prefix[] = "postgresql@", service_suffix[] = ".service";

/* "postgresql@15-main.service" -> "15/main"; NULL for others. */
static const char *debian_cluster(Arena *arena, const char *unit_name) {
        const char *version = unit_name + strlen(debian_prefix), *dash, *end;

        if (!text_starts_with(unit_name, debian_prefix) ||
            !text_ends_with(unit_name, service_suffix))
                return NULL;
        dash = strchr(version, '-');
        end = unit_name + strlen(unit_name) - strlen(service_suffix);
        if (!dash || strspn(version, "0123456789.") != (size_t) (dash - version) ||
            dash == version || end - dash < 2)
                return NULL;
        return arena_printf(arena, "%.*s/%.*s", (int) (dash - version), version,
                            (int) (end - dash - 1), dash + 1);
}

PostgresqlStart postgresql_start_read(Arena *arena, const EngineTarget *target,
                                      const Sources *sources) {
        PostgresqlStart start = {};

        if (!target->unit)
                return start;
        const UnitFile *unit = unit_file_read(arena, sources, target->unit);

        start.cluster = debian_cluster(arena, target->unit);
        if (!unit->fragment_path)
                return start;
        start.unit = unit;
        if (!start.cluster)
                start.cluster = debian_cluster(arena, unit->name);
        postgresql_command_of_unit(unit, &start.command);
        return start;
}

const char *postgresql_start_directory(Arena *arena, const EngineTarget *target,
                                       const PostgresqlStart *start, const char *otherwise) {
        const char *pgdata = unit_file_environment(start->unit, "PGDATA", NULL);
        const char *found = target->data_directory       ? target->data_directory
                            : start->command.directory   ? start->command.directory
                            : otherwise                  ? otherwise
                            : postgresql_is_path(pgdata) ? pgdata
                                                         : NULL;

        return found ? text_without_slashes(arena, found) : NULL;
}

/* ---- Patroni ---- */

typedef struct Place {
        const char *key;      /* below "postgresql:" */
        const char *variable; /* of the environment */
        const char **ret;
} Place;

/* Reads the first level below "postgresql:", which is not indented: plain values, without quotes and comment. */
static void read_patroni_lines(Arena *arena, const SourceText *text, const Place *places,
                               size_t n) {
        bool is_within = false;
        size_t depth = 0;

        SOURCE_FOREACH(line, arena, lines, text) {
                size_t indent = strspn(line, " ");

                if (line[indent] == '\0' || line[indent] == '#')
                        continue;
                if (indent == 0) {
                        is_within = text_starts_with(line, "postgresql:");
                        depth = 0;
                        continue;
                }
                depth = depth ? depth : indent;
                ARRAY_FOREACH(place, places, is_within && indent == depth ? n : 0) {
                        const char *at = line + indent + strlen(place->key);

                        if (!text_starts_with(line + indent, place->key) || *at != ':')
                                continue;
                        at += 1 + strspn(at + 1, " \t");
                        bool is_quoted = *at == '"' || *at == '\'';
                        const char *value =
                                is_quoted ? arena_strndup(arena, at + 1,
                                                          strcspn(at + 1, (char[]){*at, '\0'}))
                                          : text_strip(arena, arena_strdup_to(arena, at,
                                                                              strstr(at, " #")));

                        if (postgresql_is_path(value))
                                *place->ret = value;
                }
        }
}

const char *postgresql_patroni_of_unit(const UnitFile *unit, PostgresqlPatroni *ret) {
        Arena *arena = unit->arena;
        PostgresqlPatroni found = {};
        const Place places[] = {
                {"data_dir", "PATRONI_POSTGRESQL_DATA_DIR", &found.data_directory},
                {"config_dir", "PATRONI_POSTGRESQL_CONFIG_DIR", &found.config_directory},
                {"bin_dir", "PATRONI_POSTGRESQL_BIN_DIR", &found.programs},
        };
        const SourceNames words = unit_file_start(unit);
        const char *file = NULL; /* on the command line; "": none */
        SourceText text = {};

        VEC_FOREACH(word, &words)
                if (!file)
                        file = text_equals(text_base_name(*word), "patroni") ? "" : NULL;
                else if (**word != '-')
                        file = *word;
        if (!file)
                return NULL;
        if (*file == '/') {
                text = source_read(unit->sources, arena, file);
                read_patroni_lines(arena, &text, places, ARRAY_LEN(places));
        }
        ARRAY_FOREACH(place, places, ARRAY_LEN(places)) {
                const char *value = unit_file_environment(unit, place->variable, NULL);

                if (postgresql_is_path(value))
                        *place->ret = value;
        }
        *ret = found;
        if (found.data_directory)
                return NULL;
        if (text.error < 0)
                return arena_printf(arena, "%s: %s; write DataDirectory=", file,
                                    reader_fault(arena, text.error));
        return arena_printf(arena,
                            "%s: there is no data_dir below postgresql:; write DataDirectory=",
                            *file == '/' ? file : unit->name);
}

/* ---- existing servers ---- */

PostgresqlClusters postgresql_clusters(Arena *arena, const Sources *sources) {
        SourceNames versions = source_list(sources, arena, POSTGRESQL_CLUSTERS);
        PostgresqlClusters found = {};

        VEC_FOREACH(version, &versions) {
                SourceNames names = source_list(
                        sources, arena, arena_printf(arena, POSTGRESQL_CLUSTERS "/%s", *version));

                VEC_FOREACH(name, &names)
                        *vec_push(arena, &found) =
                                (PostgresqlCluster){*version, *name,
                                                    arena_printf(arena, "%s%s-%s%s", debian_prefix,
                                                                 *version, *name, service_suffix)};
        }
        return found;
}

void postgresql_add_units(const Engine *engine UNUSED, Arena *arena, const Sources *sources,
                          SourceNames *units) {
        const PostgresqlClusters clusters = postgresql_clusters(arena, sources);

        VEC_FOREACH(cluster, &clusters)
                *vec_push(arena, units) = cluster->unit;
}

static bool is_missing(const Sources *sources, Arena *arena, const char *path) {
        SourceNames names = {};

        return sources->list(sources, arena, path, &names) == -ENOENT;
}

static bool starts(const UnitFile *unit, const char *program) {
        UnitAssignments commands = unit_file_list(unit, "Service", "ExecStart");

        return VEC_ANY(command, &commands, strstr((*command)->value, program) != NULL);
}

/* Patroni creates a missing data directory, as a copy of its leader's. In "postgresql@15-man.service" pg_ctlcluster(1)
 * uses the instance's name as its argument. */
const char *postgresql_find_absent(const Engine *engine UNUSED, Arena *arena,
                                   const EngineTarget *target, const Sources *sources,
                                   bool has_disks) {
        const PostgresqlStart start = postgresql_start_read(arena, target, sources);
        const char *path = NULL, *what = "has nothing to start";

        if (!start.unit || starts(start.unit, "/patroni"))
                return NULL;
        if (!starts(start.unit, "/pg_ctlcluster")) {
                if (has_disks)
                        path = postgresql_start_directory(arena, target, &start, NULL);
        } else if (start.cluster) {
                path = arena_printf(arena, POSTGRESQL_CLUSTERS "/%s/postgresql.conf",
                                    start.cluster);
                what = "is for a cluster that does not exist";
        } else {
                return "is not the VERSION-NAME of a cluster";
        }
        return path && is_missing(sources, arena, path)
                       ? arena_printf(arena, "%s (%s does not exist)", what, path)
                       : NULL;
}
