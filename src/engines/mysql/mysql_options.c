/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/mysql/mysql.h"

#include "base/text.h"
#include "model/problem.h"

#include <string.h>
#include <strings.h>

/* ---- lines ---- */

/* Cuts LINE at a "#" outside quotes. */
static void cut_comment(char *line) {
        char quote = '\0';
        bool is_escaped = false;

        for (; *line && (quote || *line != '#'); line++) {
                if (strchr("'\"", *line) && !is_escaped)
                        quote = !quote ? *line : quote == *line ? '\0' : quote;
                is_escaped = quote && *line == '\\' && !is_escaped;
        }
        *line = '\0';
}

/* Removes quotes around the whole value, and resolves backslashes. */
static const char *option_value(Arena *arena, const char *raw) {
        static const char letters[] = "ntrbs\"'\\", bytes[] = "\n\t\r\b \"'\\";
        const char *value = text_strip(arena, raw), *end = value + strlen(value);
        Text text = text_in(arena);

        if (end - value > 1 && (*value == '"' || *value == '\'') && *value == end[-1]) {
                value++;
                end--;
        }
        for (; value < end; value++) {
                bool is_escape = *value == '\\' && value + 1 < end;
                const char *letter = is_escape ? strchr(letters, value[1]) : NULL;

                if (letter)
                        text_add_n(&text, &bytes[letter - letters], 1);
                else
                        text_add_n(&text, value, is_escape ? 2 : 1);
                value += is_escape;
        }
        return text_string(&text);
}

/* ---- files ---- */

/* isspace() of latin1, as in the servers. */
static const char whitespace[] = " \t\r\n\v\f";

typedef struct Reader {
        Arena *arena;
        const Sources *sources;
        MysqlFiles *files;
} Reader;

/* Returns what ERROR means, as the end of a sentence. */
static const char *unopened_text(const Reader *reader, int error) {
        return error == -ENOENT || error == -ENOTDIR
                       ? "does not exist"
                       : arena_printf(reader->arena, "cannot be read: %s", strerror(-error));
}

/* search_default_file_with_ext() of both servers ignores what it cannot open. */
static void note_skipped(const Reader *reader, const ReaderPlace *place, const char *path,
                         int error) {
        Diag diag = problem_of(PROBLEM_DATABASE_FILES, place->path, NULL);

        diag.line = place->line;
        diags_report(&reader->files->problems, diag, "%s%s %s; the server skips it%s",
                     place->line > 0 ? "the included " : "", path, unopened_text(reader, error),
                     error == -EACCES ? " if it cannot either" : "");
}

static const char *read_text(const Reader *reader, ReaderPlace *place, const SourceText *text);

/* Skips a directory within a directory if IS_LISTED. */
static const char *include_file(const Reader *reader, const ReaderPlace *place, const char *path,
                                bool is_listed) {
        ReaderPlace inner = {.path = path, .includer = place, .depth = place->depth + 1};
        const char *wrong = reader_check_include(reader->arena, &inner, reader->files->paths.n + 1);
        SourceText text;

        if (wrong)
                return wrong;
        text = source_read(reader->sources, reader->arena, path);
        if (text.error == -EISDIR && is_listed)
                return NULL;
        if (source_is_unopened(text.error)) {
                note_skipped(reader, place, path, text.error);
                return NULL;
        }
        return read_text(reader, &inner, &text);
}

static const char *include_directory(const Reader *reader, const ReaderPlace *place,
                                     const char *path) {
        Arena *arena = reader->arena;
        SourceNames names = {};
        int r = reader->sources->list(reader->sources, arena, path, &names);
        const char *wrong = NULL;

        if (r < 0)
                return reader_refuse(
                        reader->arena, place,
                        arena_printf(arena,
                                     "the included directory %s cannot be read: %s; the "
                                     "server does not start like this",
                                     path, strerror(-r)));
        for (size_t i = 0; i < names.n && !wrong; i++)
                if (text_ends_with(names.items[i], ".cnf"))
                        wrong = include_file(reader, place,
                                             arena_printf(arena, "%s/%s", path, names.items[i]),
                                             true);
        return wrong;
}

/* LINE is overwritten. */
static const char *read_line(const Reader *reader, const ReaderPlace *place, const char **group,
                             char *line) {
        Arena *arena = reader->arena;

        line += strspn(line, whitespace);
        if (!*line || *line == '#' || *line == ';')
                return NULL;
        if (*line == '!') {
                const char *rest = line + 1, *word = text_next_word(arena, &rest, whitespace);
                bool is_directory = text_equals(word, "includedir");
                const char *path = text_strip(arena, rest);

                if (!is_directory && !text_equals(word, "include"))
                        return NULL; /* the servers skip unknown directives */
                if (!*path)
                        return reader_refuse(reader->arena, place,
                                             "a path must follow this directive");
                /* The servers do not say where a relative path begins: the working directory of a service is "/". */
                path = arena_printf(arena, "%s%s", *path == '/' ? "" : "/",
                                    text_without_slashes(arena, path));
                return is_directory ? include_directory(reader, place, path)
                                    : include_file(reader, place, path, false);
        }
        if (*line == '[') {
                const char *end = strchr(line, ']');

                if (!end)
                        return reader_refuse(reader->arena, place,
                                             "a group without its closing ']'");
                *group = text_strip(arena, arena_strdup_to(arena, line + 1, end));
                return NULL;
        }
        if (!*group)
                return reader_refuse(reader->arena, place,
                                     "an option before any [group]; write [mysqld] above it");
        SourceNames *groups = &reader->files->groups;

        if (groups->n == 0 || groups->items[groups->n - 1] != *group)
                *vec_push(arena, groups) = *group;
        cut_comment(line);
        const char *equals = strchr(line, '=');

        *vec_push(arena, &reader->files->options) = (MysqlOption){
                .group = *group,
                .name = text_strip(arena, equals ? arena_strdup_to(arena, line, equals) : line),
                .value = equals ? option_value(arena, equals + 1) : NULL,
                .origin = source_origin(arena, place->path, place->line),
        };
        return NULL;
}

static const char *read_text(const Reader *reader, ReaderPlace *place, const SourceText *text) {
        SourceLines lines = source_lines(text);
        const char *group = NULL, *wrong = NULL, *start = lines.at;
        char *line;

        if (text->error < 0) {
                const char *fault = reader_fault(reader->arena, text->error);

                return place->includer
                               ? reader_refuse(reader->arena, place->includer,
                                               arena_printf(reader->arena, "the included %s %s",
                                                            place->path, fault))
                               : reader_refuse(reader->arena, place, fault);
        }
        *vec_push(reader->arena, &reader->files->paths) = place->path;
        for (; !wrong && (line = source_line(reader->arena, &lines)); start = lines.at) {
                place->line = lines.number;
                if (memchr(start, '\0', (size_t) (lines.at - start)))
                        return reader_refuse(reader->arena, place,
                                             "a NUL byte; this is not an option file");
                wrong = read_line(reader, place, &group, line);
        }
        return wrong;
}

const char *mysql_files_read(Arena *arena, const Sources *sources, const char *path,
                             MysqlFiles *files, const char **ret_unopened) {
        const Reader reader = {arena, sources, files};
        SourceText text = source_read(sources, arena, path);
        ReaderPlace place = {.path = arena_strdup(arena, path)};

        *ret_unopened = source_is_unopened(text.error) ? unopened_text(&reader, text.error) : NULL;
        if (*ret_unopened && text.error != -ENOENT && text.error != -ENOTDIR)
                note_skipped(&reader, &place, path, text.error);
        return *ret_unopened ? NULL : read_text(&reader, &place, &text);
}

/* ---- settings ---- */

/* Returns how many bytes of GIVEN and NAME are equal, by the rules for names. */
static size_t common_length(const char *given, const char *name) {
        size_t n = 0;

        while (given[n] && setting_fold(given[n]) == name[n])
                n++;
        return n;
}

static const MysqlName *find_name(const MysqlNames *names, const char *given) {
        for (const MysqlName *name = names->items; name < names->items + names->n; name++) {
                size_t n = common_length(given, name->name);

                if (!given[n] &&
                    (!name->name[n] || (name->shortest && n >= strlen(name->shortest))))
                        return name;
        }
        return NULL;
}

typedef enum Prefix {
        PREFIX_SKIP,
        PREFIX_DISABLE,
        PREFIX_ENABLE,
        PREFIX_MAXIMUM, /* sets InnoDB's variables themselves */
        PREFIX_LOOSE,
        PREFIX_NONE,
} Prefix;

static const char *const prefixes[] = {"skip", "disable", "enable", "maximum", "loose"};

/* The last prefix counts; a name is searched before a prefix and its "-" or "_" is taken off. */
static const MysqlName *find_prefixed(const MysqlNames *names, const char *given, Prefix *ret) {
        const MysqlName *name;

        *ret = PREFIX_NONE;
        while (!(name = find_name(names, given))) {
                size_t i = 0, n = 0;

                for (; i < ARRAY_LEN(prefixes); i++) {
                        n = strlen(prefixes[i]);
                        if (common_length(given, prefixes[i]) == n && setting_fold(given[n]) == '_')
                                break;
                }
                *ret = (Prefix) i; /* PREFIX_NONE behind the last */
                if (*ret == PREFIX_NONE)
                        return NULL;
                given += n + 1;
        }
        return name;
}

/* The value as the servers read it: "1GB" as 1G, "64M;x" as 64M, "" as 0. */
static const char *number_value(Arena *arena, const char *value) {
        size_t sign = *value == '+', digits = strspn(value + sign, "0123456789");

        if (!*value)
                return "0";
        if (digits > 0 && value[sign + digits] && strchr("KkMmGgTtPpEe", value[sign + digits]))
                digits++;
        else if (digits == 0 || value[sign + digits])
                return value; /* the engine refuses it, as the server does */
        return arena_strndup(arena, value + sign, digits);
}

bool mysql_option_set(Arena *arena, const MysqlOption *option, const MysqlNames *names,
                      Settings *settings) {
        const char *given = option->name, *value = option->value, *cache = "";
        const char *point = strchr(given, '.');
        bool is_zero = value && text_equals(value, "0");
        Prefix prefix;

        /* "hot.key_buffer_size" is a setting of the key cache "hot"; the default cache is called "default". */
        if (point) {
                cache = arena_strdup_to(arena, given, point + 1);
                cache = strcasecmp(cache, "default.") == 0 ? "" : cache;
                given = point + 1;
        }
        const MysqlName *name = find_prefixed(names, given, &prefix);

        if (!name || (point && !name->of_key_cache))
                return false;
        if (prefix == PREFIX_SKIP || prefix == PREFIX_DISABLE)
                value = is_zero ? "1" : "0"; /* --skip-X=0 means on */
        else if (prefix == PREFIX_ENABLE)
                value = is_zero ? "0" : "1";
        if (name->kind == MYSQL_SWITCH) /* any other value means off, even "yes" */
                value = !value || strcasecmp(value, "1") == 0 || strcasecmp(value, "on") == 0 ||
                                        strcasecmp(value, "true") == 0
                                ? "ON"
                                : "OFF";
        else if (name->kind == MYSQL_NUMBER && value)
                value = number_value(arena, value);
        settings_add(arena, settings, arena_printf(arena, "%s%s", cache, name->name),
                     value ? value : "", option->origin);
        return true;
}

Reads mysql_option_reads(const MysqlNames *names, const char *given) {
        const char *point = strchr(given, '.');
        Prefix prefix;
        const MysqlName *name = find_prefixed(names, point ? point + 1 : given, &prefix);

        if (!name)
                name = ARRAY_FIND(each, names->items, names->n,
                                  each->letter && each->letter == given[0] && !given[1]);
        if (!name || (point && !name->of_key_cache))
                return READS_NOT;
        return name->kind == MYSQL_SWITCH ? READS_VALUE : READS_NEXT;
}

/* ---- command lines ---- */

/* Reads "--name", "--name=value" and the letters of short options; skips other words. */
MysqlOptions mysql_options_of_words(Arena *arena, const char *const *words, size_t n,
                                    const MysqlNames *names, const char *origin) {
        MysqlOptions options = {};

        for (size_t i = 0; i < n && !text_equals(words[i], "--"); i++) {
                const char *word = words[i], *equals = strchr(word, '=');
                MysqlOption option = {.origin = origin};
                Prefix prefix;

                if (text_starts_with(word, "--")) {
                        option.name = arena_strdup_to(arena, word + 2, equals);
                        option.value = equals ? equals + 1 : NULL;
                } else {
                        const MysqlName *of_letter =
                                *word == '-' ? ARRAY_FIND(each, names->items, names->n,
                                                          each->letter && each->letter == word[1])
                                             : NULL;

                        if (!of_letter)
                                continue;
                        option.name = of_letter->name;
                        option.value = word[2] ? word + 2 : NULL;
                }
                const MysqlName *name = find_prefixed(names, option.name, &prefix);

                if (name && name->kind != MYSQL_SWITCH && !option.value && i + 1 < n &&
                    *words[i + 1] != '-')
                        option.value = words[++i];
                *vec_push(arena, &options) = option;
        }
        return options;
}
