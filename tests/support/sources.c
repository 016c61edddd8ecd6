/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/sources.h"

#include "base/text.h"

#include <stdlib.h>

typedef struct TestSources {
        Sources sources;
        const TestFile *files;
        size_t n;
        uint64_t *hashes; /* of the paths: readers look for hundreds of missing files */
} TestSources;

static uint64_t hash_of(const char *path) {
        uint64_t hash = 14695981039346656037U;

        for (; *path; path++)
                hash = (hash ^ (unsigned char) *path) * 1099511628211U;
        return hash;
}

static const TestFile *find_file(const Sources *sources, const char *path) {
        const TestSources *self = (const TestSources *) sources;
        uint64_t hash = hash_of(path);

        for (size_t i = 0; i < self->n; i++)
                if (self->hashes[i] == hash && text_equals(self->files[i].path, path))
                        return &self->files[i];
        return NULL;
}

static const char *link_target(const TestFile *file) {
        return file && file->text && text_starts_with(file->text, "-> ") ? file->text + 3 : NULL;
}

static SourceText read_test(const Sources *sources, Arena *arena, const char *path) {
        const TestFile *file = find_file(sources, path);

        if (link_target(file))
                file = find_file(sources, source_relative(arena, path, link_target(file)));
        if (!file)
                return (SourceText){.error = -ENOENT};
        if (!file->text)
                return (SourceText){.error = -EACCES};
        size_t size = file->size > 0 ? file->size : strlen(file->text);

        if (size > SOURCE_BYTES_MAX)
                return (SourceText){.error = -EFBIG};
        return (SourceText){.text = file->text, .size = size};
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static bool has_name(const SourceNames *names, const char *name) {
        VEC_FOREACH(other, names)
                if (text_equals(*other, name))
                        return true;
        return false;
}

static int list_test(const Sources *sources, Arena *arena, const char *path, SourceNames *ret) {
        const TestSources *self = (const TestSources *) sources;
        const char *prefix = arena_printf(arena, "%s/", path);
        size_t length = strlen(prefix);
        SourceNames names = {};

        for (size_t i = 0; i < self->n; i++) {
                const char *file = self->files[i].path;

                if (strnlen(file, length) < length || file[length - 1] != '/' ||
                    !text_starts_with(file, prefix))
                        continue;
                const char *rest = file + length;
                const char *name = arena_strndup(arena, rest, strcspn(rest, "/"));

                if (!has_name(&names, name))
                        *vec_push(arena, &names) = name;
        }
        if (names.n == 0)
                return find_file(sources, path) ? -ENOTDIR : -ENOENT;
        qsort(names.items, names.n, sizeof(*names.items), compare_names);
        *ret = names;
        return 0;
}

static const char *link_test(const Sources *sources, Arena *arena, const char *path) {
        (void) arena;
        return link_target(find_file(sources, path));
}

const Sources *test_sources(Arena *arena, const TestFile *files, size_t n) {
        TestSources *self = ARENA_NEW(arena, TestSources);

        *self = (TestSources){{read_test, read_test, list_test, link_test},
                              arena_memdup(arena, files, n * sizeof(*files)),
                              n,
                              ARENA_ARRAY(arena, uint64_t, n)};
        for (size_t i = 0; i < n; i++)
                self->hashes[i] = hash_of(files[i].path);
        return &self->sources;
}

size_t test_files_count(const TestFile *files, size_t n_max) {
        size_t n = 0;

        while (n < n_max && files[n].path)
                n++;
        return n;
}

/* The next line "=== PATH" from AT on, or END. */
static const char *find_header(const char *at, const char *end) {
        static const char mark[] = "=== /";

        while (at < end) {
                const char *newline = memchr(at, '\n', (size_t) (end - at));

                if ((size_t) (end - at) >= strlen(mark) && memcmp(at, mark, strlen(mark)) == 0)
                        return at;
                at = newline ? newline + 1 : end;
        }
        return end;
}

static TestFile unpack_file(Arena *arena, const char *header, const char *end) {
        const char *newline = memchr(header, '\n', (size_t) (end - header));
        const char *text = newline ? newline + 1 : end;
        const char *path_end = newline ? newline : end;
        char *copy = arena_alloc(arena, (size_t) (end - text) + 1);

        memcpy(copy, text, (size_t) (end - text));
        return (TestFile){
                .path = arena_strndup(arena, header + 4, (size_t) (path_end - header) - 4),
                .text = copy,
                .size = (size_t) (end - text),
        };
}

TestFiles test_files_unpack(Arena *arena, const void *bytes, size_t size) {
        const char *end = (const char *) bytes + size, *at = find_header(bytes, end);
        TestFiles files = {};

        while (at < end) {
                const char *next = find_header(at + 1, end);

                *vec_push(arena, &files) = unpack_file(arena, at, next);
                at = next;
        }
        return files;
}

const Sources *test_sources_unpack(Arena *arena, const void *bytes, size_t size) {
        const TestFiles files = test_files_unpack(arena, bytes, size);

        return test_sources(arena, files.items, files.n);
}
