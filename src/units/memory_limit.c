/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/memory_limit.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"
#include "units/hugetlb_limit.h"

#include <string.h>

/* "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nsdelegate,memory_hugetlb_accounting 0 0" */
bool memory_limits_count_huge_pages(Arena *arena, const Sources *sources) {
        SourceText text = source_read_kernel(sources, arena, PATH_MOUNTS);

        SOURCE_FOREACH(line, arena, lines, &text) {
                text_next_word(arena, &line, " ");
                text_next_word(arena, &line, " ");
                if (text_equals(text_next_word(arena, &line, " "), "cgroup2") &&
                    strstr(line, "memory_hugetlb_accounting"))
                        return true;
        }
        return false;
}

MemoryLimits memory_limits_read(Arena *arena, const Sources *sources, const char *hierarchy,
                                const char *group, uint64_t page_size_bytes, bool has_memory) {
        const char *size = hugetlb_limit_size_name(arena, page_size_bytes);
        const char *touched = arena_printf(arena, "hugetlb.%s.max", size);
        const char *reserved = arena_printf(arena, "hugetlb.%s.rsvd.max", size);
        const struct {
                const char *name, *key;
                uint64_t page_size_bytes;
        } files[] = {{touched, touched, page_size_bytes},
                     {reserved, reserved, page_size_bytes},
                     {"memory.max", "MemoryMax"},
                     {"memory.high", "MemoryHigh"}};
        MemoryLimits limits = {};
        char *path = arena_strdup(arena, group), *slash;

        while (hierarchy && strlen(path) > strlen(hierarchy) && (slash = strrchr(path, '/'))) {
                ARRAY_FOREACH(file, files, has_memory ? 4 : 2) {
                        MemoryLimit limit = {
                                .file = arena_printf(arena, "%s/%s", path, file->name),
                                .path = arena_strdup(arena, path),
                                .group = arena_strdup(arena, slash + 1),
                                .key = file->key,
                                .page_size_bytes = file->page_size_bytes,
                        };

                        SourceText text = source_read_kernel(sources, arena, limit.file);
                        SourceLines lines = source_lines(&text);
                        char *line = source_line(arena, &lines);

                        /* "max": no limit */
                        if (line && parse_u64(text_strip(arena, line), &limit.bytes) == 0 &&
                            hugetlb_limit_is_limit(limit.bytes))
                                *vec_push(arena, &limits) = limit;
                }
                *slash = '\0';
        }
        return limits;
}

static bool is_in(const MemoryUse *use, const MemoryLimit *limit) {
        return (limit->page_size_bytes == 0 || limit->page_size_bytes == use->page_size_bytes) &&
               text_is_within(use->path, limit->path) &&
               !(text_ends_with(limit->key, ".rsvd.max") && text_equals(use->path, limit->path));
}

bool memory_limits_apply(const MemoryLimits *limits, const MemoryUse *use) {
        return VEC_ANY(limit, limits, is_in(use, limit));
}

static uint64_t used_bytes(const MemoryLimit *limit, const MemoryUses *uses) {
        return VEC_SUM(use, uses, is_in(use, limit) ? use->bytes : 0);
}

Reason memory_limits_judge(Arena *arena, const MemoryLimits *limits, const MemoryUses *uses) {
        const MemoryLimit *worst = NULL;
        uint64_t worst_excess = 0;
        Text users = text_in(arena);
        size_t n = 0;

        VEC_FOREACH(limit, limits) {
                uint64_t bytes = used_bytes(limit, uses);

                if (bytes > limit->bytes && bytes - limit->bytes > worst_excess) {
                        worst = limit;
                        worst_excess = bytes - limit->bytes;
                }
        }
        if (!worst)
                return (Reason){};
        VEC_FOREACH(use, uses)
                if (is_in(use, worst)) {
                        text_add_item(&users, arena_printf(arena, "%s (%s)", use->name,
                                                           format_size(arena, use->bytes)));
                        n++;
                }
        const char *total = format_size(arena, used_bytes(worst, uses));
        /* "its huge pages alone are 3G"; "the huge pages alone of pg (2G), maria (1G) are 3G" */
        const char *is_used = n < 2 ? arena_printf(arena, "its huge pages alone are %s", total)
                                    : arena_printf(arena, "the huge pages alone of %s are %s",
                                                   text_string(&users), total);

        if (worst->page_size_bytes > 0)
                return reason_make(
                        arena, REASON_MEMORY_LIMIT,
                        arena_printf(arena, "raise it to %s, or write max into it", total),
                        "%s of %s is %s, and %s: %s", worst->key, worst->group,
                        format_size(arena, worst->bytes), is_used,
                        text_ends_with(worst->key, ".rsvd.max")
                                ? "a start beyond it fails (ENOMEM), or uses small pages"
                                : "a process is killed by SIGBUS when it touches more");
        return reason_make(
                arena, REASON_MEMORY_LIMIT,
                arena_printf(arena,
                             "raise it to %s plus what its processes need besides, or remove it",
                             total),
                "%s= of %s is %s, and %s; huge pages count against it here "
                "(memory_hugetlb_accounting), and on most kernels a process that hits it spins in "
                "the page fault handler for ever: no OOM kill, and the unit stays active",
                worst->key, worst->group, format_size(arena, worst->bytes), is_used);
}
