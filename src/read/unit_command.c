/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The command line and the environment of a service, as systemd derives them from its unit: the second part of
 * unit_file.h. */

#include "base/size.h"
#include "base/text.h"
#include "read/unit_file.h"

#include <fnmatch.h>

static const char whitespace[] = " \t\n\r";

/* Variables may multiply each other's text: a command line beyond these limits is refused. */
enum {
        VARIABLES_MAX = 1024,
        WORDS_MAX = 1024,
        WORD_BYTES_IN_ALL = 128 << 10,
        FILES_MAX = 64,
};

/* ---- words ---- */

/* Adds the escape after a backslash; an unknown escape is kept unchanged. */
static const char *take_escape(const char *at, Text *word) {
        static const char letters[] = "abfnrstv\\\"'", meanings[] = "\a\b\f\n\r \t\v\\\"'";
        const char hex[] = {at[0] == 'x' ? at[1] : '\0', at[0] == 'x' && at[1] ? at[2] : '\0',
                            '\0'};
        const char *letter = *at ? strchr(letters, *at) : NULL;
        uint64_t number = 0;
        char byte;

        if (strlen(hex) == 2)
                parse_hex_u64(hex, &number);
        else if (strspn(at, "01234567") >= 3)
                number = (uint64_t) ((at[0] - '0') * 64 + (at[1] - '0') * 8 + (at[2] - '0'));
        if (number > 0 && number <= 0xFF) {
                byte = (char) number;
                text_add_n(word, &byte, 1);
                return at + 3;
        }
        if (letter) {
                text_add_n(word, &meanings[letter - letters], 1);
                return at + 1;
        }
        text_add(word, "\\");
        text_add_n(word, at, *at != '\0');
        return at + (*at != '\0');
}

const char *unit_word_take(Arena *arena, const char **string, bool *ret_is_bare) {
        Text word = text_in(arena);
        const char *at = *string + strspn(*string, whitespace);
        char quote = '\0';

        *ret_is_bare = true;
        if (!*at)
                return NULL;
        while (*at && (quote || !strchr(whitespace, *at))) {
                char c = *at++;

                if (c == '\\' || (quote ? c == quote : c == '"' || c == '\''))
                        *ret_is_bare = false;
                if (c == '\\')
                        at = take_escape(at, &word);
                else if (quote ? c == quote : c == '"' || c == '\'')
                        quote = quote ? '\0' : c;
                else
                        text_add_n(&word, &c, 1);
        }
        if (quote)
                return NULL;
        *string = at;
        return text_string(&word);
}

/* ---- environment ---- */

static Variable *find_variable(const Variables *variables, const char *name) {
        return VEC_FIND(variable, variables, text_equals(variable->name, name));
}

/* The last assignment of a name wins. */
static void add_variable(Arena *arena, Variables *variables, const char *name, const char *value,
                         const char *path, unsigned line) {
        Variable *variable = find_variable(variables, name);

        if (!*name || !text_is_utf8(name, strlen(name)) || !text_is_utf8(value, strlen(value)))
                return;
        if (!variable && variables->n < VARIABLES_MAX)
                variable = vec_push(arena, variables);
        if (variable)
                *variable = (Variable){name, value, source_origin(arena, path, line)};
}

/* ---- files of the environment ---- */

typedef struct Cursor {
        const char *at;
        unsigned line;
} Cursor;

/* Takes the next character; '\0' at the end. */
static char take(Cursor *cursor) {
        char c = *cursor->at;

        cursor->at += c != '\0';
        cursor->line += c == '\n';
        return c;
}

static void skip(Cursor *cursor, const char *characters) {
        while (*cursor->at && strchr(characters, *cursor->at))
                take(cursor);
}

/* Reads quoted parts, then an unquoted part to the end of the line without trailing whitespace. A backslash escapes a
 * shell's special characters between double quotes, and nothing between single quotes. */
static const char *take_value(Arena *arena, Cursor *cursor) {
        Text value = text_in(arena);
        char quote = '\0', c;
        bool is_plain = false;
        size_t length = 0;

        while (*cursor->at && (quote || *cursor->at != '\n')) {
                bool is_escaped = (c = take(cursor)) == '\\' && quote != '\'';

                if (is_escaped) {
                        if (!(c = take(cursor)) || c == '\n')
                                continue;
                        if (quote && !strchr("\"\\`$", c))
                                text_add(&value, "\\");
                } else if (quote ? c == quote : !is_plain && strchr("'\" \t\r", c)) {
                        quote = quote || !strchr("'\"", c) ? '\0' : c;
                        continue;
                }
                is_plain = !quote;
                text_add_n(&value, &c, 1);
                if (quote || is_escaped || !strchr(whitespace, c))
                        length = value.length;
        }
        value.length = length;
        text_add(&value, "");
        return value.string;
}

/* Reads to the first NUL, as systemd does. */
static void add_file(const UnitFile *unit, Variables *variables, const char *path) {
        SourceText text = source_read(unit->sources, unit->arena, path);
        Cursor cursor = {text.error == 0 ? text.text : "", 1};

        for (skip(&cursor, whitespace); *cursor.at; skip(&cursor, whitespace)) {
                size_t length = strcspn(cursor.at, "=\n");
                unsigned line = cursor.line;

                if (*cursor.at == '#' || *cursor.at == ';' || cursor.at[length] != '=') {
                        cursor.at += strcspn(cursor.at, "\n");
                        continue;
                }
                const char *name =
                        text_strip(unit->arena, arena_strndup(unit->arena, cursor.at, length));

                cursor.at += length + 1;
                add_variable(unit->arena, variables, name, take_value(unit->arena, &cursor), path,
                             line);
        }
}

/* EnvironmentFile=: an absolute path or pattern; a "-" before it allows the file to be missing. */
static void add_files(const UnitFile *unit, Variables *variables, const char *path) {
        const char *slash = strrchr(path, '/');

        path += *path == '-';
        if (*path != '/')
                return;
        if (!strpbrk(path, "*?[")) {
                add_file(unit, variables, path);
                return;
        }
        const char *directory = arena_strdup_to(unit->arena, path, slash);
        SourceNames names = source_list(unit->sources, unit->arena, directory);

        size_t n = 0;

        VEC_FOREACH(name, &names)
                if (**name != '.' && fnmatch(slash + 1, *name, FNM_PATHNAME) == 0 &&
                    n++ < FILES_MAX)
                        add_file(unit, variables,
                                 arena_printf(unit->arena, "%s/%s", directory, *name));
}

Variables unit_file_variables(const UnitFile *unit) {
        UnitAssignments assigned = unit_file_list(unit, "Service", "Environment");
        UnitAssignments files = unit_file_list(unit, "Service", "EnvironmentFile");
        Variables variables = {};

        VEC_FOREACH(assignment, &assigned) {
                /* "NAME=VALUE" "NAME=VALUE" */
                const char *rest = (*assignment)->value, *word, *equals;
                bool is_bare;

                while ((word = unit_word_take(unit->arena, &rest, &is_bare)))
                        if ((equals = strchr(word, '=')))
                                add_variable(unit->arena, &variables,
                                             arena_strdup_to(unit->arena, word, equals), equals + 1,
                                             (*assignment)->file, (*assignment)->line);
        }
        for (size_t i = 0; i < MIN(files.n, (size_t) FILES_MAX); i++)
                add_files(unit, &variables, files.items[i]->value);
        return variables;
}

const char *unit_file_environment(const UnitFile *unit, const char *variable,
                                  const char **ret_origin) {
        const Variables variables = unit ? unit_file_variables(unit) : (Variables){};
        const Variable *found = find_variable(&variables, variable);

        if (!found || *found->value == '\0')
                return NULL;
        if (ret_origin)
                *ret_origin = found->origin;
        return found->value;
}

/* ---- command lines ---- */

typedef struct Command {
        Arena *arena;
        Variables variables;
        SourceNames words;
        size_t bytes;
        bool is_refused;
} Command;

static void add_word(Command *command, const char *word) {
        command->bytes += strlen(word) + 1;
        command->is_refused = command->is_refused || command->words.n >= WORDS_MAX ||
                              command->bytes > WORD_BYTES_IN_ALL;
        if (!command->is_refused)
                *vec_push(command->arena, &command->words) = word;
}

/* Substitutes "${VARIABLE}" anywhere in a word, and "$" for "$$". */
static void add_filled(Command *command, const char *word) {
        Text text = text_in(command->arena);

        while (*word && text.length <= WORD_BYTES_IN_ALL) {
                size_t plain = strcspn(word, "$");
                const char *end = word[plain] && word[plain + 1] == '{' ? strchr(word + plain, '}')
                                                                        : NULL;

                text_add_n(&text, word, plain);
                word += plain;
                if (end) {
                        const Variable *variable = find_variable(
                                &command->variables, arena_strdup_to(text.arena, word + 2, end));

                        text_add(&text, variable ? variable->value : "");
                        word = end + 1;
                } else if (*word) {
                        text_add(&text, "$");
                        word += word[1] == '$' ? 2 : 1;
                }
        }
        add_word(command, text_string(&text));
}

/* Reads the first command only; a ";" as a word begins the next one. */
SourceNames unit_file_command(const UnitFile *unit, const char *command_line) {
        Arena *arena = unit->arena;
        Command command = {arena, unit_file_variables(unit)};
        const char *rest = command_line + strspn(command_line, whitespace), *word;
        size_t n_prefixes = strspn(rest, "-@:+!|");
        const char *prefixes = arena_strndup(arena, rest, n_prefixes);
        bool is_bare;

        rest += n_prefixes;
        if ((word = unit_word_take(arena, &rest, &is_bare)))
                add_word(&command, word);
        if (word && strchr(prefixes, '@')) /* argv[0] of the program */
                word = unit_word_take(arena, &rest, &is_bare);
        while (word && (word = unit_word_take(arena, &rest, &is_bare)) && !command.is_refused) {
                if (is_bare && text_equals(word, ";"))
                        break;
                if (strchr(prefixes, ':'))
                        add_word(&command, word);
                else if (*word == '$' && word[1] != '{' && word[1] != '$') {
                        /* The variable's value is split into words. */
                        const Variable *variable = find_variable(&command.variables, word + 1);
                        const char *value = variable ? variable->value : "", *part;

                        command.bytes += strlen(value);
                        while (!command.is_refused &&
                               (part = unit_word_take(arena, &value, &is_bare)))
                                add_word(&command, part);
                } else
                        add_filled(&command, text_equals(word, "\\;") ? ";" : word);
        }
        bool is_open = !word && rest[strspn(rest, whitespace)];

        return command.is_refused || is_open ? (SourceNames){} : command.words;
}

SourceNames unit_file_start(const UnitFile *unit) {
        const char *start = unit_file_value(unit, "Service", "ExecStart");

        return start ? unit_file_command(unit, start) : (SourceNames){};
}
