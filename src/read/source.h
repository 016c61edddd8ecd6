/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Sources: how code without file access reads the files of database products.
 *
 * A product's configuration includes other files, so the files to read are known only while reading. Parsers receive
 * these functions; those of host/host_sources.h read below a Root, tests keep texts in memory. Paths are absolute.
 * Results belong to the arena. */

#include "base/vec.h"

/* Larger files are refused (-EFBIG), because no configuration is as large. */
#define SOURCE_BYTES_MAX ((size_t) 1 << 20)

typedef struct SourceText {
        const char *text; /* NUL-terminated, any bytes, NULs too; NULL: see error */
        size_t size;
        int error; /* 0, or the negative errno of reading */
} SourceText;

/* Names of files and units, words of command lines. */
typedef VEC(const char *) SourceNames;

/* A directory that was listed. */
typedef struct SourceListed {
        SourceNames names;
        int error; /* 0, or the negative errno of listing */
} SourceListed;

/* A variable of an environment, or of a script. */
typedef struct Variable {
        const char *name;
        const char *value;  /* in a script, parts may be unknown (read/shell_words.h) */
        const char *origin; /* "FILE:LINE" of the last assignment; NULL: not kept */
} Variable;

typedef VEC(Variable) Variables;

bool source_names_have(const SourceNames *names, const char *name);

typedef struct Sources Sources;
/* An implementation embeds it as the first member of its own structure. */
struct Sources {
        /* Reads a whole regular file. Never blocks: -EINVAL for pipes, devices, and files that the kernel generates. */
        SourceText (*read)(const Sources *sources, Arena *arena, const char *path);
        /* Reads a file that the kernel generates, at a path of model/names.h. */
        SourceText (*read_kernel)(const Sources *sources, Arena *arena, const char *path);
        /* Lists a directory without "." and "..", sorted by strcmp(3), read-only; or returns a negative errno. */
        int (*list)(const Sources *sources, Arena *arena, const char *path, SourceNames *ret);
        /* Returns the text of a symbolic link, or NULL if PATH is none or does not exist. */
        const char *(*link)(const Sources *sources, Arena *arena, const char *path);
};

static inline SourceText source_read(const Sources *sources, Arena *arena, const char *path) {
        return sources->read(sources, arena, path);
}

static inline SourceText source_read_kernel(const Sources *sources, Arena *arena,
                                            const char *path) {
        return sources->read_kernel(sources, arena, path);
}

/* Returns no names if the directory cannot be read. */
static inline SourceNames source_list(const Sources *sources, Arena *arena, const char *path) {
        SourceNames names = {};

        sources->list(sources, arena, path, &names);
        return names;
}

/* Returns whether the file exists, even if it cannot be read. */
static inline bool source_exists(const Sources *sources, Arena *arena, const char *path) {
        int error = source_read(sources, arena, path).error;

        return error != -ENOENT && error != -ENOTDIR;
}

/* Returns whether ERROR means that the reader cannot open the file: products that skip a missing file skip it too. */
static inline bool source_is_unopened(int error) {
        return error == -ENOENT || error == -ENOTDIR || error == -EACCES || error == -ELOOP ||
               error == -ENAMETOOLONG;
}

static inline const char *source_link(const Sources *sources, Arena *arena, const char *path) {
        return sources->link(sources, arena, path);
}

/* ---- lines ---- */

/* Walks the lines of a text: SourceLines lines = source_lines(&text); while (source_line(...)). */
typedef struct SourceLines {
        const char *at, *end;
        unsigned number; /* of the last line returned, from 1 */
} SourceLines;

SourceLines source_lines(const SourceText *text);

/* Returns the next line without its end ("\n", "\r\n"), in ARENA; NULL after the last. A NUL ends the visible part of a
 * line. */
char *source_line(Arena *arena, SourceLines *lines);

/* Walks the lines of TEXT, also if it could not be read; LINES.number is the number of LINE. */
#define SOURCE_FOREACH(line, arena, lines, text)                                           \
        for (SourceLines lines = source_lines(text), *lines##_once = &lines; lines##_once; \
             lines##_once = NULL)                                                          \
                for (const char *line; (line = source_line((arena), &lines));)

/* Returns "FILE:LINE", the origin of a setting. */
char *source_origin(Arena *arena, const char *path, unsigned line);

/* Returns PATH if it is absolute, else PATH in the directory of FILE. */
char *source_relative(Arena *arena, const char *file, const char *path);
