/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/postgresql/postgresql_command.h"

#include "base/text.h"
#include "engines/reader.h"
#include "read/shell_words.h"

#include <string.h>

enum { WORDS_MAX = 1024, OPTS_BYTES_MAX = 128 << 10 };

typedef struct Reading {
        Arena *arena;
        PostgresqlWanted *is_wanted;
        const char *origin;
        PostgresqlCommand *command;
} Reading;

/* ---- options of the server ---- */

static const char *add_setting(const Reading *reading, const char *name, const char *value) {
        const char *fault;

        if (!reading->is_wanted(name))
                return NULL;
        fault = postgresql_value_fault(value);
        if (fault)
                return arena_printf(reading->arena, "%s: %s: %s", reading->origin, name, fault);
        settings_add(reading->arena, &reading->command->settings, name, value, reading->origin);
        return NULL;
}

/* "NAME=VALUE", with "-" for "_" in the name. */
static const char *add_assignment(const Reading *reading, const char *assignment) {
        const char *equals = strchr(assignment, '=');

        if (!equals)
                return NULL;
        char *name = arena_strdup_to(reading->arena, assignment, equals);

        for (char *at = name; *at; at++)
                if (*at == '-')
                        *at = '_';
        return add_setting(reading, name, equals + 1);
}

static const char *add_option(const Reading *reading, char letter, const char *value) {
        switch (letter) {
        case 'c':
        case '-':
                return add_assignment(reading, value);
        case 'B':
                return add_setting(reading, "shared_buffers", value);
        case 'N':
                return add_setting(reading, "max_connections", value);
        case 'D':
                if (*value == '/' && !postgresql_value_fault(value))
                        reading->command->directory = value;
        }
        return NULL;
}

/* As by getopt(3): letters may stand together, and the value of one in the same word or the next. */
static const char *add_options(const Reading *reading, const char *const *words, size_t n) {
        static const char with_value[] = "BCDNSWcdfhkoprt-";

        for (size_t i = 0; i < n; i++) {
                const char *wrong = NULL;

                if (text_equals(words[i], "--"))
                        return NULL;
                if (*words[i] != '-')
                        continue;
                const char *letter = words[i] + 1;

                while (*letter && !strchr(with_value, *letter))
                        letter++;
                if (*letter && (letter[1] || i + 1 < n))
                        wrong = add_option(reading, *letter, letter[1] ? letter + 1 : words[++i]);
                if (wrong)
                        return wrong;
        }
        return NULL;
}

static const char *add_line(const Reading *reading, const char *line) {
        static const char whitespace[] = " \t\n";
        SourceNames words = {};

        while (words.n < WORDS_MAX && *(line += strspn(line, whitespace)))
                *vec_push(reading->arena, &words) =
                        shell_take_word(reading->arena, &line, whitespace, NULL);
        return add_options(reading, words.items, words.n);
}

const char *postgresql_command_add(Arena *arena, const char *line, const char *origin,
                                   PostgresqlWanted *is_wanted, PostgresqlCommand *command) {
        const Reading reading = {arena, is_wanted, origin, command};

        return add_line(&reading, line);
}

/* ---- pg_ctl and pg_ctlcluster ---- */

/* The value of the option SHORT ("-o") or LONG ("--options") at words[*I], which moves to the next
 * word where it stands there; NULL: it is another. */
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

static const char *add_launcher_options(const Reading *reading, const char *const *words,
                                        size_t n) {
        for (size_t i = 0; i < n; i++) {
                const char *directory = option_value(words, n, &i, "-D", "--pgdata");
                const char *options = directory ? NULL
                                                : option_value(words, n, &i, "-o", "--options");
                const char *wrong = directory ? add_option(reading, 'D', directory) : NULL;

                if (options)
                        wrong = add_line(reading, options);
                if (wrong)
                        return wrong;
        }
        return NULL;
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

/* The index of what WORD names among the programs, -1 for none. */
static int find_program(const char *word) {
        for (size_t i = 0; i < ARRAY_LEN(programs); i++)
                if (text_equals(text_base_name(word), programs[i].name))
                        return (int) i;
        return -1;
}

static const char *add_program(const Reading *reading, const char *const *words, size_t n) {
        int program = find_program(words[0]);

        if (programs[program].is_beside_server && *words[0] == '/')
                reading->command->program = source_relative(reading->arena, words[0], "postgres");
        reading->command->is_server = programs[program].is_server;
        if (programs[program].is_server)
                return add_options(reading, words + 1, n - 1);
        return add_launcher_options(reading, words + 1, n - 1);
}

/* The program may stand behind another, such as numactl. */
const char *postgresql_command_of_unit(Arena *arena, const UnitFile *unit, const Sources *sources,
                                       PostgresqlWanted *is_wanted, PostgresqlCommand *ret) {
        UnitAssignments starts = unit_file_list(arena, unit, "Service", "ExecStart");

        for (size_t k = 0; k < starts.n; k++) {
                const UnitAssignment *start = starts.items[k];
                SourceNames words = unit_file_command(arena, unit, sources, start->value);
                const Reading reading = {arena, is_wanted,
                                         source_origin(arena, start->file, start->line), ret};

                for (size_t i = 0; i < words.n; i++)
                        if (find_program(words.items[i]) >= 0)
                                return add_program(&reading, words.items + i, words.n - i);
        }
        return NULL;
}

/* ---- postmaster.opts ---- */

/* PROGRAM "WORD" "WORD"...: quotes within a word are not marked in any way. */
static SourceNames split_opts(Arena *arena, const char *line) {
        SourceNames words = {};
        const char *quote = strstr(line, " \"");

        while (quote && words.n < WORDS_MAX) {
                const char *start = quote + 2, *next = strstr(start, "\" \"");
                size_t length = next ? (size_t) (next - start) : strlen(start);

                if (!next && length > 0 && start[length - 1] == '"')
                        length--;
                *vec_push(arena, &words) = arena_strndup(arena, start, length);
                quote = next ? next + 1 : NULL;
        }
        return words;
}

const char *postgresql_command_of_last_start(Arena *arena, const Sources *sources, const char *path,
                                             PostgresqlWanted *is_wanted, PostgresqlCommand *ret) {
        SourceText text = source_read(sources, arena, path);
        SourceLines lines = source_lines(&text);
        const char *line, *remedy = "start the server once, which writes it anew";

        if (text.error == -ENOENT)
                return NULL;
        if (text.error < 0)
                return arena_printf(arena, "%s: %s", path, reader_fault(arena, text.error));
        line = source_line(arena, &lines);
        if (!line || *line != '/' || text.size > OPTS_BYTES_MAX || memchr(text.text, 0, text.size))
                return arena_printf(arena, "%s: is not what the server writes; %s", path, remedy);
        SourceNames words = split_opts(arena, line);
        const Reading reading = {arena, is_wanted, source_origin(arena, path, 1), ret};

        return add_options(&reading, words.items, words.n);
}
