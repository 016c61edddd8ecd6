/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Files in memory, for readers of a database's configuration. */

#include "read/source.h"

typedef struct TestFile {
        const char *path;
        const char *text; /* "-> TARGET" is a link; NULL: unreadable (EACCES) */
        size_t size;      /* 0: up to the first NUL */
} TestFile;

typedef VEC(TestFile) TestFiles;

/* Sources with N FILES, whose texts are not copied. Paths imply their directories. A link is followed only at the end of a
 * path. */
const Sources *test_sources(Arena *arena, const TestFile *files, size_t n);

/* FILES has room for N_MAX, and ends at the first one without a path. */
size_t test_files_count(const TestFile *files, size_t n_max);

/* Files in one text, for fuzzers. Each begins with a line "=== PATH"; text before the first is ignored. */
TestFiles test_files_unpack(Arena *arena, const void *bytes, size_t size);
const Sources *test_sources_unpack(Arena *arena, const void *bytes, size_t size);

#define TEST_SOURCES(arena, ...)                               \
        test_sources((arena), (const TestFile[]){__VA_ARGS__}, \
                     ARRAY_LEN(((const TestFile[]){__VA_ARGS__})))
