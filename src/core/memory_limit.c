/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/memory_limit.h"

#include "base/size.h"
#include "base/text.h"
#include "core/names.h"

#include <string.h>

/* "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nsdelegate,memory_hugetlb_accounting 0 0" */
bool memory_limits_count_huge_pages(Arena *arena, const Sources *sources) {
        SourceText text = source_read(sources, arena, PATH_MOUNTS);
        SourceLines lines = source_lines(&text);
        char *line;

        while (text.text && (line = source_line(arena, &lines))) {
                const char *rest = line;

                text_next_word(arena, &rest, " ");
                text_next_word(arena, &rest, " ");
                if (text_equals(text_next_word(arena, &rest, " "), "cgroup2") &&
                    strstr(rest, "memory_hugetlb_accounting"))
                        return true;
        }
        return false;
}

/* "max" is none. */
static bool read_bytes(Arena *arena, const Sources *sources, const char *path, uint64_t *ret) {
        SourceText text = source_read(sources, arena, path);
        SourceLines lines = source_lines(&text);
        char *line = text.text ? source_line(arena, &lines) : NULL;

        return line && parse_u64(text_strip(arena, line), ret) == 0;
}

MemoryLimits memory_limits_read(Arena *arena, const Sources *sources, const char *hierarchy,
                                const char *group) {
        static const struct {
                const char *name, *key;
        } files[] = {{"memory.max", "MemoryMax"}, {"memory.high", "MemoryHigh"}};
        MemoryLimits limits = {};
        char *path = arena_strdup(arena, group), *slash;

        for (; strlen(path) > strlen(hierarchy) && (slash = strrchr(path, '/')); *slash = '\0')
                for (size_t i = 0; i < ARRAY_LEN(files); i++) {
                        MemoryLimit limit = {
                                .file = arena_printf(arena, "%s/%s", path, files[i].name),
                                .group = arena_strdup(arena, slash + 1),
                                .key = files[i].key,
                        };

                        if (read_bytes(arena, sources, limit.file, &limit.bytes))
                                *vec_push(arena, &limits) = limit;
                }
        return limits;
}

Reason memory_limits_judge(Arena *arena, const MemoryLimits *limits, uint64_t bytes) {
        const MemoryLimit *lowest = NULL;

        VEC_FOREACH(limit, limits)
                if (!lowest || limit->bytes < lowest->bytes)
                        lowest = limit;
        if (!lowest || lowest->bytes >= bytes)
                return (Reason){};
        return (Reason){
                REASON_MEMORY_LIMIT,
                arena_printf(
                        arena,
                        "%s= of %s is %s, and its huge pages alone are %s; " MEMORY_LIMIT_LIVELOCK,
                        lowest->key, lowest->group, format_size(arena, lowest->bytes),
                        format_size(arena, bytes)),
                arena_printf(arena,
                             "raise it to %s and what its processes need besides, or take "
                             "it off",
                             format_size(arena, bytes))};
}
