/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/mysql/mysql_files.h"

#include "base/text.h"
#include "model/problem.h"

#include <string.h>

/* As in the servers. Theirs end a circle at the tenth level, having read it ten times. */
enum { INCLUDE_DEPTH_MAX = 10 };

/* More are no configuration. */
enum { FILES_MAX = 512 };

/* isspace() of latin1, which is what the servers ask. */
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
        MysqlTakeLine *take_line;
        MysqlFiles *files;
} Reader;

/* ---- sentences ---- */

static const char *refuse(const Reader *reader, const Place *place, const char *text) {
        if (place->line == 0)
                return arena_printf(reader->arena, "%s: %s", place->path, text);
        return arena_printf(reader->arena, "%s:%u: %s", place->path, place->line, text);
}

static const char *refuse_reading(const Reader *reader, const Place *place, int error) {
        const char *text = strerror(-error);

        if (error == -EFBIG)
                text = "it is larger than 1M, which no option file is";
        if (error == -E2BIG)
                text = "all files together are larger than 16M, which no option files are";
        if (error == -EINVAL)
                text = "not a regular file";
        text = arena_printf(reader->arena, "cannot be read: %s", text);
        if (!place->includer)
                return refuse(reader, place, text);
        return refuse(reader, place->includer,
                      arena_printf(reader->arena, "the included %s %s", place->path, text));
}

/* What ERROR says, as the end of a sentence. */
static const char *unopened_text(const Reader *reader, int error) {
        return error == -ENOENT || error == -ENOTDIR
                       ? "is not there"
                       : arena_printf(reader->arena, "cannot be read: %s", strerror(-error));
}

/* search_default_file_with_ext() of both servers ignores what it cannot open. */
static void note_skipped(const Reader *reader, const Place *place, const char *path, int error) {
        diags_add(&reader->files->problems,
                  &(Diag){.severity = SEVERITY_WARNING,
                          .id = problem_id(PROBLEM_DATABASE_FILES),
                          .file = place->path,
                          .line = place->line,
                          .text = arena_printf(reader->arena, "%s%s %s; the server skips it",
                                               place->line > 0 ? "the included " : "", path,
                                               unopened_text(reader, error))});
}

/* ---- files ---- */

static const char *read_text(const Reader *reader, Place *place, const SourceText *text);

/* Like the servers, which do not say where a relative path begins: a service begins at "/". */
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

/* A directory within a directory is passed over. */
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

/* The argument of WORD where LINE is that directive, else NULL. */
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
        return NULL; /* the servers skip what they do not know */
}

static void hand_on(const Reader *reader, const Place *place, const char *group, char *line) {
        SourceNames *groups = &reader->files->groups;

        if (groups->n == 0 || groups->items[groups->n - 1] != group)
                *vec_push(reader->arena, groups) = group;
        if (reader->take_line)
                reader->take_line(reader->arena, group, line,
                                  source_origin(reader->arena, place->path, place->line),
                                  reader->files);
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
        hand_on(reader, place, *group, line);
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

const char *mysql_files_walk(Arena *arena, const Sources *sources, const char *path,
                             MysqlTakeLine *take_line, MysqlFiles *files,
                             const char **ret_unopened) {
        const Reader reader = {arena, sources, take_line, files};
        SourceText text = source_read(sources, arena, path);
        Place place = {.path = arena_strdup(arena, path)};

        *ret_unopened = source_is_unopened(text.error) ? unopened_text(&reader, text.error) : NULL;
        if (*ret_unopened && text.error != -ENOENT && text.error != -ENOTDIR)
                note_skipped(&reader, &place, path, text.error);
        return *ret_unopened ? NULL : read_text(&reader, &place, &text);
}
