/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/mysql/mysql_options.h"

#include "base/text.h"
#include "model/problem.h"

#include <string.h>
#include <strings.h>

/* ---- lines ---- */

/* Cuts LINE at a "#" outside quotes. */
static void cut_comment(char *line) {
        char quote = '\0';
        bool is_escaped = false;

        for (; *line; line++) {
                if (strchr("'\"", *line) && !is_escaped)
                        quote = !quote ? *line : quote == *line ? '\0' : quote;
                if (!quote && *line == '#')
                        break;
                is_escaped = quote && *line == '\\' && !is_escaped;
        }
        *line = '\0';
}

static void add_escaped(Text *text, char escaped) {
        static const char letters[] = "ntrbs\"'\\", bytes[] = "\n\t\r\b \"'\\";
        const char *letter = strchr(letters, escaped);

        if (letter)
                text_add_n(text, &bytes[letter - letters], 1);
        else
                text_add_n(text, (const char[]){'\\', escaped}, 2);
}

/* Removes quotes around the whole value, and resolves backslashes. */
static const char *option_value(Arena *arena, const char *raw) {
        const char *value = text_strip(arena, raw), *end = value + strlen(value);
        Text text = text_in(arena);

        if (end - value > 1 && (*value == '"' || *value == '\'') && *value == end[-1]) {
                value++;
                end--;
        }
        for (; value < end; value++)
                if (*value == '\\' && value + 1 < end)
                        add_escaped(&text, *++value);
                else
                        text_add_n(&text, value, 1);
        return text_string(&text);
}

/* Adds the option in LINE, which is overwritten. */
static void add_option(Arena *arena, const char *group, char *line, const char *origin,
                       MysqlOptions *options) {
        MysqlOption *option = vec_push(arena, options);
        char *equals;

        cut_comment(line);
        equals = strchr(line, '=');
        *option = (MysqlOption){
                .group = group,
                .value = equals ? option_value(arena, equals + 1) : NULL,
                .origin = origin,
        };
        if (equals)
                *equals = '\0';
        option->name = text_strip(arena, line);
}

/* ---- files ---- */

/* The servers' limit. They end a circle of includes at this level, after reading it ten times. */
enum { INCLUDE_DEPTH_MAX = 10 };

/* No configuration has more. */
enum { FILES_MAX = 512 };

/* isspace() of latin1, as in the servers. */
static const char whitespace[] = " \t\r\n\v\f";

typedef struct Place {
        const char *path;
        unsigned line; /* 0: not within the file */
        const struct Place *includer;
        unsigned depth;
} Place;

typedef struct Reader {
        Arena *arena;
        const Sources *sources;
        MysqlFiles *files;
} Reader;

static const char *refuse(const Reader *reader, const Place *place, const char *text) {
        if (place->line == 0)
                return arena_printf(reader->arena, "%s: %s", place->path, text);
        return arena_printf(reader->arena, "%s:%u: %s", place->path, place->line, text);
}

static const char *refuse_reading(const Reader *reader, const Place *place, int error) {
        const char *text = reader_fault(reader->arena, error);

        if (!place->includer)
                return refuse(reader, place, text);
        return refuse(reader, place->includer,
                      arena_printf(reader->arena, "the included %s %s", place->path, text));
}

/* Returns what ERROR means, as the end of a sentence. */
static const char *unopened_text(const Reader *reader, int error) {
        return error == -ENOENT || error == -ENOTDIR
                       ? "is not there"
                       : arena_printf(reader->arena, "cannot be read: %s", strerror(-error));
}

/* search_default_file_with_ext() of both servers ignores what it cannot open. */
static void note_skipped(const Reader *reader, const Place *place, const char *path, int error) {
        Diag diag = problem_of(PROBLEM_DATABASE_FILES, place->path, NULL);

        diag.line = place->line;
        diags_report(&reader->files->problems, diag, "%s%s %s; the server skips it",
                     place->line > 0 ? "the included " : "", path, unopened_text(reader, error));
}

static const char *read_text(const Reader *reader, Place *place, const SourceText *text);

/* The servers do not say where a relative path begins: the working directory of a service is "/". */
static char *included_path(const Reader *reader, const char *path) {
        return arena_printf(reader->arena, "%s%s", *path == '/' ? "" : "/",
                            text_without_slashes(reader->arena, path));
}

static const char *check_include(const Reader *reader, const Place *place) {
        for (const Place *outer = place->includer; outer; outer = outer->includer)
                if (text_equals(outer->path, place->path))
                        return refuse(reader, place->includer,
                                      arena_printf(reader->arena,
                                                   "%s is included by itself; remove this line",
                                                   place->path));
        if (place->depth > INCLUDE_DEPTH_MAX)
                return refuse(reader, place->includer,
                              "more than 10 levels of !include; the server stops there");
        if (reader->files->paths.n >= FILES_MAX)
                return refuse(reader, place->includer, "too many included files");
        return NULL;
}

/* Skips a directory within a directory if IS_LISTED. */
static const char *include_file(const Reader *reader, const Place *place, const char *path,
                                bool is_listed) {
        Place inner = {.path = path, .includer = place, .depth = place->depth + 1};
        const char *wrong = check_include(reader, &inner);
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

static const char *include_directory(const Reader *reader, const Place *place, const char *path) {
        SourceNames names = {};
        int r = reader->sources->list(reader->sources, reader->arena, path, &names);

        if (r < 0)
                return refuse(reader, place,
                              arena_printf(reader->arena,
                                           "the included directory %s cannot be read: %s; the "
                                           "server does not start like this",
                                           path, strerror(-r)));
        VEC_FOREACH(name, &names) {
                if (!text_ends_with(*name, ".cnf"))
                        continue;
                const char *wrong = include_file(
                        reader, place, arena_printf(reader->arena, "%s/%s", path, *name), true);

                if (wrong)
                        return wrong;
        }
        return NULL;
}

/* Returns the argument of the directive WORD in LINE; NULL if LINE is another line. */
static const char *directive_argument(Arena *arena, const char *line, const char *word) {
        size_t length = strlen(word);

        if (!text_starts_with(line, word) || !line[length] || !strchr(whitespace, line[length]))
                return NULL;
        return text_strip(arena, line + length);
}

static const char *read_directive(const Reader *reader, const Place *place, const char *line) {
        const char *directory, *file;

        line += 1 + strspn(line + 1, whitespace);
        directory = directive_argument(reader->arena, line, "includedir");
        file = directive_argument(reader->arena, line, "include");
        if ((directory && !*directory) || (file && !*file) || text_equals(line, "include") ||
            text_equals(line, "includedir"))
                return refuse(reader, place, "there must be a path behind this directive");
        if (directory)
                return include_directory(reader, place, included_path(reader, directory));
        if (file)
                return include_file(reader, place, included_path(reader, file), false);
        return NULL; /* the servers skip unknown directives */
}

static const char *read_line(const Reader *reader, const Place *place, const char **group,
                             char *line) {
        line += strspn(line, whitespace);
        if (!*line || *line == '#' || *line == ';')
                return NULL;
        if (*line == '!')
                return read_directive(reader, place, line);
        if (*line == '[') {
                const char *end = strchr(line, ']');

                if (!end)
                        return refuse(reader, place, "a group without its closing ']'");
                *group = text_strip(reader->arena, arena_strdup_to(reader->arena, line + 1, end));
                return NULL;
        }
        if (!*group)
                return refuse(reader, place,
                              "an option before any [group]; write [mysqld] above it");
        SourceNames *groups = &reader->files->groups;

        if (groups->n == 0 || groups->items[groups->n - 1] != *group)
                *vec_push(reader->arena, groups) = *group;
        add_option(reader->arena, *group, line,
                   source_origin(reader->arena, place->path, place->line), &reader->files->options);
        return NULL;
}

static const char *read_text(const Reader *reader, Place *place, const SourceText *text) {
        SourceLines lines = source_lines(text);
        const char *group = NULL, *wrong = NULL, *start = lines.at;
        char *line;

        if (text->error < 0)
                return refuse_reading(reader, place, text->error);
        *vec_push(reader->arena, &reader->files->paths) = place->path;
        for (; !wrong && (line = source_line(reader->arena, &lines)); start = lines.at) {
                place->line = lines.number;
                if (memchr(start, '\0', (size_t) (lines.at - start)))
                        return refuse(reader, place, "a NUL byte; this is no option file");
                wrong = read_line(reader, place, &group, line);
        }
        return wrong;
}

const char *mysql_files_read(Arena *arena, const Sources *sources, const char *path,
                             MysqlFiles *files, const char **ret_unopened) {
        const Reader reader = {arena, sources, files};
        SourceText text = source_read(sources, arena, path);
        Place place = {.path = arena_strdup(arena, path)};

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

/* Takes a prefix and its "-" or "_" off *GIVEN. */
static Prefix take_prefix(const char **given) {
        for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
                size_t n = strlen(prefixes[i]);

                if (common_length(*given, prefixes[i]) == n && setting_fold((*given)[n]) == '_') {
                        *given += n + 1;
                        return (Prefix) i;
                }
        }
        return PREFIX_NONE;
}

/* --skip-X=0 means on. */
static const char *switched_value(Prefix prefix, const char *value) {
        bool is_zero = value && text_equals(value, "0");

        if (prefix == PREFIX_SKIP || prefix == PREFIX_DISABLE)
                return is_zero ? "1" : "0";
        if (prefix == PREFIX_ENABLE)
                return is_zero ? "0" : "1";
        return value;
}

/* Any other value means off, even "yes". */
static const char *switch_value(const char *value) {
        static const char *const on[] = {"1", "on", "true"};

        for (size_t i = 0; value && i < ARRAY_LEN(on); i++)
                if (strcasecmp(value, on[i]) == 0)
                        return "ON";
        return value ? "OFF" : "ON";
}

/* The servers read "1GB" as 1G, "64M;x" as 64M, "" as 0. */
static const char *number_value(Arena *arena, const char *value) {
        size_t sign, digits;

        if (!value)
                return "";
        sign = *value == '+';
        digits = strspn(value + sign, "0123456789");
        if (!*value)
                return "0";
        if (digits > 0 && value[sign + digits] && strchr("KkMmGgTtPpEe", value[sign + digits]))
                digits++;
        else if (digits == 0 || value[sign + digits])
                return value; /* the engine refuses it, as the server does */
        return arena_strndup(arena, value + sign, digits);
}

static const char *setting_value(Arena *arena, const MysqlName *name, const char *value) {
        switch (name->kind) {
        case MYSQL_NUMBER:
                return number_value(arena, value);
        case MYSQL_SWITCH:
                return switch_value(value);
        case MYSQL_TEXT:
                break;
        }
        return value ? value : "";
}

/* The last prefix counts; a name is searched before a prefix is taken off. */
static const MysqlName *find_prefixed(const MysqlNames *names, const char *given, Prefix *ret) {
        const MysqlName *name;

        *ret = PREFIX_NONE;
        while (!(name = find_name(names, given))) {
                *ret = take_prefix(&given);
                if (*ret == PREFIX_NONE)
                        return NULL;
        }
        return name;
}

/* "hot.key_buffer_size": returns the part up to the point and moves *GIVEN behind it; "" without a point. The default
 * cache is called "default". */
static const char *key_cache_of(Arena *arena, const char **given) {
        const char *point = strchr(*given, '.');
        const char *cache = "";

        if (!point)
                return cache;
        cache = arena_strdup_to(arena, *given, point + 1);
        *given = point + 1;
        return strcasecmp(cache, "default.") == 0 ? "" : cache;
}

bool mysql_option_set(Arena *arena, const MysqlOption *option, const MysqlNames *names,
                      Settings *settings) {
        const char *given = option->name, *cache = key_cache_of(arena, &given);
        Prefix prefix;
        const MysqlName *name = find_prefixed(names, given, &prefix);

        if (!name || (given != option->name && !name->of_key_cache))
                return false;
        settings_add(arena, settings, arena_printf(arena, "%s%s", cache, name->name),
                     setting_value(arena, name, switched_value(prefix, option->value)),
                     option->origin);
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

/* Reads "--name" or "--name=value"; returns false for other words. */
static bool read_long(Arena *arena, const char *word, MysqlOption *ret) {
        const char *equals = strchr(word, '=');

        if (!text_starts_with(word, "--") || !word[2])
                return false;
        ret->name = equals ? arena_strdup_to(arena, word + 2, equals)
                           : arena_strdup(arena, word + 2);
        ret->value = equals ? arena_strdup(arena, equals + 1) : NULL;
        return true;
}

static bool read_short(const char *word, const MysqlNames *names, MysqlOption *ret) {
        if (*word != '-')
                return false;
        const MysqlName *name =
                ARRAY_FIND(each, names->items, names->n, each->letter && each->letter == word[1]);

        if (!name)
                return false;
        ret->name = name->name;
        ret->value = word[2] ? word + 2 : NULL;
        return true;
}

static bool takes_value(const MysqlNames *names, const MysqlOption *option) {
        Prefix prefix;
        const MysqlName *name = find_prefixed(names, option->name, &prefix);

        return name && name->kind != MYSQL_SWITCH && !option->value;
}

MysqlOptions mysql_options_of_words(Arena *arena, const char *const *words, size_t n,
                                    const MysqlNames *names, const char *origin) {
        MysqlOptions options = {};

        for (size_t i = 0; i < n; i++) {
                MysqlOption option = {.origin = origin};

                if (text_equals(words[i], "--"))
                        break;
                if (!read_long(arena, words[i], &option) && !read_short(words[i], names, &option))
                        continue;
                if (takes_value(names, &option) && i + 1 < n && *words[i + 1] != '-')
                        option.value = words[++i];
                *vec_push(arena, &options) = option;
        }
        return options;
}
