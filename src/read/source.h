/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Sources: how the pure rooms read the files of database products without touching a file itself.
 *
 * A product's configuration includes other files, so what is to be read next shows only while
 * reading. They are given these functions; the host room's (host/host_sources.h) read below a
 * Root, tests hold texts in memory. Paths are absolute. What comes back belongs to the arena. */

#include "base/vec.h"

/* Larger files are no configuration (-EFBIG). */
#define SOURCE_BYTES_MAX ((size_t) 1 << 20)

typedef struct SourceText {
        const char *text; /* NUL-terminated, may hold NULs and anything else; NULL: see error */
        size_t size;
        int error; /* 0, or the negative errno of reading */
} SourceText;

/* Names of files and units, words of command lines. */
typedef VEC(const char *) SourceNames;

/* A variable of an environment, or of a script. */
typedef struct Variable {
        const char *name;
        const char *value;  /* of a script it may be unknown, in part too (read/shell_words.h) */
        const char *origin; /* "FILE:LINE" of the last assignment; NULL: not kept */
} Variable;

typedef VEC(Variable) Variables;

bool source_names_have(const SourceNames *names, const char *name);

typedef struct Sources Sources;
/* Who implements it embeds it as the first member of a structure of its own. */
struct Sources {
        /* A regular file, whole. Never waits: -EINVAL for pipes and devices, and for what the kernel
         * makes up as it is read. */
        SourceText (*read)(const Sources *sources, Arena *arena, const char *path);
        /* That: a file by a path of model/names.h. */
        SourceText (*read_kernel)(const Sources *sources, Arena *arena, const char *path);
        /* The names in a directory without "." and "..", sorted by strcmp(3), not to be changed; negative errno. */
        int (*list)(const Sources *sources, Arena *arena, const char *path, SourceNames *ret);
        /* Where a symbolic link leads, as it stands in the link; NULL: it is none, or not there. */
        const char *(*link)(const Sources *sources, Arena *arena, const char *path);
};

static inline SourceText source_read(const Sources *sources, Arena *arena, const char *path) {
        return sources->read(sources, arena, path);
}

static inline SourceText source_read_kernel(const Sources *sources, Arena *arena,
                                            const char *path) {
        return sources->read_kernel(sources, arena, path);
}

/* No names where the directory cannot be read. */
static inline SourceNames source_list(const Sources *sources, Arena *arena, const char *path) {
        SourceNames names = {};

        sources->list(sources, arena, path, &names);
        return names;
}

/* Whether there is a file of that path, be it one that cannot be read. */
static inline bool source_exists(const Sources *sources, Arena *arena, const char *path) {
        int error = source_read(sources, arena, path).error;

        return error != -ENOENT && error != -ENOTDIR;
}

/* Whether ERROR of a read says that its user cannot open the file: products that skip a missing file skip this one. */
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
        unsigned number; /* of the line returned last, from 1 */
} SourceLines;

SourceLines source_lines(const SourceText *text);

/* The next line without its end ("\n", "\r\n"), in ARENA; NULL behind the last. A NUL ends what is
 * seen of a line. */
char *source_line(Arena *arena, SourceLines *lines);

/* "FILE:LINE", as the origin of a setting. */
char *source_origin(Arena *arena, const char *path, unsigned line);

/* PATH where it is absolute, else PATH in the directory of FILE. */
char *source_relative(Arena *arena, const char *file, const char *path);
