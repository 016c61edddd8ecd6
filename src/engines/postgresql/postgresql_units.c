/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/postgresql/postgresql_units.h"

#include "base/text.h"

#include <string.h>

#define PATH_CLUSTERS "/etc/postgresql"

static const char debian_prefix[] = "postgresql@", service_suffix[] = ".service";

/* ---- how a unit starts it ---- */

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

const char *postgresql_start_read(Arena *arena, const EngineTarget *target, const Sources *sources,
                                  PostgresqlWanted *is_wanted, PostgresqlStart *ret) {
        if (!target->unit)
                return NULL;
        const UnitFile *unit = unit_file_read(arena, sources, target->unit);

        ret->cluster = debian_cluster(arena, target->unit);
        if (!unit->fragment_path)
                return NULL;
        ret->unit = unit;
        if (!ret->cluster)
                ret->cluster = debian_cluster(arena, unit->name);
        return postgresql_command_of_unit(arena, unit, sources, is_wanted, &ret->command);
}

const char *postgresql_start_directory(Arena *arena, const EngineTarget *target,
                                       const Sources *sources, const PostgresqlStart *start,
                                       const char *otherwise) {
        const char *pgdata = unit_file_environment(arena, start->unit, sources, "PGDATA", NULL);
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

/* The file among the words of the unit's command line; NULL: it is not Patroni that they start. "": it has none. */
static const char *find_patroni_file(Arena *arena, const UnitFile *unit, const Sources *sources) {
        const SourceNames words = unit_file_start(arena, unit, sources);
        const char *file = NULL;

        VEC_FOREACH(word, &words)
                if (!file)
                        file = text_equals(text_base_name(*word), "patroni") ? "" : NULL;
                else if (**word != '-')
                        file = *word;
        return file;
}

/* What stands behind "KEY:", without quotes and comment; NULL: another key, or no plain value. */
static const char *value_of(Arena *arena, const char *line, const char *key) {
        size_t length = strlen(key);

        line += strspn(line, " ");
        if (!text_starts_with(line, key) || line[length] != ':')
                return NULL;
        line += length + 1;
        line += strspn(line, " \t");
        if (*line == '"' || *line == '\'')
                return arena_strndup(arena, line + 1,
                                     strcspn(line + 1, (const char[]){*line, '\0'}));
        const char *comment = strstr(line, " #");

        return text_strip(arena, comment ? arena_strdup_to(arena, line, comment) : line);
}

/* The first level below "postgresql:", which stands at the margin. */
static void read_patroni_lines(Arena *arena, const SourceText *text, const Place *places,
                               size_t n) {
        SourceLines lines = source_lines(text);
        bool is_within = false;
        size_t depth = 0;
        const char *line;

        while ((line = source_line(arena, &lines))) {
                size_t indent = strspn(line, " ");

                if (line[indent] == '\0' || line[indent] == '#')
                        continue;
                if (indent == 0) {
                        is_within = text_starts_with(line, "postgresql:");
                        depth = 0;
                }
                if (!is_within || indent == 0)
                        continue;
                depth = depth ? depth : indent;
                for (size_t i = 0; i < n && indent == depth; i++) {
                        const char *value = value_of(arena, line, places[i].key);

                        if (postgresql_is_path(value))
                                *places[i].ret = value;
                }
        }
}

const char *postgresql_patroni_of_unit(Arena *arena, const UnitFile *unit, const Sources *sources,
                                       PostgresqlPatroni *ret) {
        PostgresqlPatroni found = {};
        const Place places[] = {
                {"data_dir", "PATRONI_POSTGRESQL_DATA_DIR", &found.data_directory},
                {"config_dir", "PATRONI_POSTGRESQL_CONFIG_DIR", &found.config_directory},
                {"bin_dir", "PATRONI_POSTGRESQL_BIN_DIR", &found.programs},
        };
        const char *file = find_patroni_file(arena, unit, sources);
        SourceText text = {};

        if (!file)
                return NULL;
        if (*file == '/') {
                text = source_read(sources, arena, file);
                read_patroni_lines(arena, &text, places, ARRAY_LEN(places));
        }
        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
                const char *value =
                        unit_file_environment(arena, unit, sources, places[i].variable, NULL);

                if (postgresql_is_path(value))
                        *places[i].ret = value;
        }
        *ret = found;
        if (found.data_directory)
                return NULL;
        return text.error < 0 ? arena_printf(arena, "%s: %s; write DataDirectory=", file,
                                             reader_fault(arena, text.error))
                              : arena_printf(arena,
                                             "%s: there is no data_dir below postgresql:; write "
                                             "DataDirectory=",
                                             *file == '/' ? file : unit->name);
}

/* ---- which exist ---- */

static void add_postgresql(Arena *arena, const Sources *sources, SourceNames *units) {
        SourceNames versions = source_list(sources, arena, PATH_CLUSTERS);

        VEC_FOREACH(version, &versions) {
                SourceNames clusters = source_list(
                        sources, arena, arena_printf(arena, PATH_CLUSTERS "/%s", *version));

                VEC_FOREACH(cluster, &clusters)
                        *vec_push(arena, units) = arena_printf(arena, "%s%s-%s%s", debian_prefix,
                                                               *version, *cluster, service_suffix);
        }
}

static bool is_missing(const Sources *sources, Arena *arena, const char *directory) {
        SourceNames names = {};
        int r = sources->list(sources, arena, directory, &names);

        return r == -ENOENT || r == -ENOTDIR;
}

static bool wants_nothing(const char *name UNUSED) {
        return false;
}

static bool starts(Arena *arena, const UnitFile *unit, const char *program) {
        UnitAssignments commands = unit_file_list(arena, unit, "Service", "ExecStart");

        return VEC_ANY(command, &commands, strstr((*command)->value, program) != NULL);
}

/* "postgresql@15-man.service": pg_ctlcluster(1) takes the instance for its argument. */
static const char *find_absent_cluster(Arena *arena, const char *unit, const Sources *sources,
                                       const char *cluster) {
        const char *directory = arena_printf(arena, PATH_CLUSTERS "/%s", cluster ? cluster : "");

        if (!cluster)
                return arena_printf(arena, "%s is no VERSION-NAME of a cluster", unit);
        return is_missing(sources, arena, directory)
                       ? arena_printf(arena,
                                      "%s is for a cluster that there is not (%s does not exist)",
                                      unit, directory)
                       : NULL;
}

/* Patroni makes what is not there: a copy of its leader's. */
static const char *find_absent_postgresql(Arena *arena, const EngineTarget *target,
                                          const Sources *sources, bool has_disks) {
        PostgresqlStart start = {};

        if (postgresql_start_read(arena, target, sources, wants_nothing, &start) || !start.unit ||
            starts(arena, start.unit, "/patroni"))
                return NULL;
        if (starts(arena, start.unit, "/pg_ctlcluster"))
                return find_absent_cluster(arena, target->unit, sources, start.cluster);
        const char *directory =
                has_disks ? postgresql_start_directory(arena, target, sources, &start, NULL) : NULL;

        return directory && is_missing(sources, arena, directory)
                       ? arena_printf(arena, "%s has nothing to start (%s does not exist)",
                                      target->unit, directory)
                       : NULL;
}

const EngineUnits units_postgresql = {
        .add = add_postgresql,
        .find_absent = find_absent_postgresql,
};
