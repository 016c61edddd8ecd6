/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Files in memory, for what reads a database's own configuration. */

#include "read/source.h"

typedef struct TestFile {
        const char *path;
        const char *text; /* of a link: "-> TARGET"; NULL: cannot be read (EACCES) */
        size_t size;      /* 0: as far as the first NUL */
} TestFile;

typedef VEC(TestFile) TestFiles;

/* Sources of the N FILES (not copied); directories are what the paths imply. Links are followed where
 * they are the whole path, not within one. */
const Sources *test_sources(Arena *arena, const TestFile *files, size_t n);

/* Files packed into one text, for fuzzers: each begins with a line "=== PATH". What comes before the
 * first is left out. */
TestFiles test_files_unpack(Arena *arena, const void *bytes, size_t size);
const Sources *test_sources_unpack(Arena *arena, const void *bytes, size_t size);

#define TEST_SOURCES(arena, ...)                               \
        test_sources((arena), (const TestFile[]){__VA_ARGS__}, \
                     ARRAY_LEN(((const TestFile[]){__VA_ARGS__})))
