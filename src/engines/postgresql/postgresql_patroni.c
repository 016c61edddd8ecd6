/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/postgresql/postgresql_patroni.h"

#include "base/text.h"
#include "engines/postgresql/postgresql_value.h"

#include <string.h>

typedef struct Place {
        const char *key;      /* below "postgresql:" */
        const char *variable; /* of the environment */
        const char **ret;
} Place;

/* The file among the words of the unit's command line; NULL: it is not Patroni that they start. "": it has none. */
static const char *find_file(Arena *arena, const UnitFile *unit, const Sources *sources) {
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
static void read_lines(Arena *arena, const SourceText *text, const Place *places, size_t n) {
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
        const char *file = find_file(arena, unit, sources);
        SourceText text = {};

        if (!file)
                return NULL;
        if (*file == '/') {
                text = source_read(sources, arena, file);
                read_lines(arena, &text, places, ARRAY_LEN(places));
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
                                             postgresql_read_fault(arena, text.error))
                              : arena_printf(arena,
                                             "%s: there is no data_dir below postgresql:; write "
                                             "DataDirectory=",
                                             *file == '/' ? file : unit->name);
}
