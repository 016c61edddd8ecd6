/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/sysv_segments.h"

#include "base/size.h"
#include "base/text.h"

/* key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap */
static bool parse_segment(Arena *arena, const char *line, SysvSegment *ret) {
        uint64_t *const fields[] = {
                [1] = &ret->id,         [3] = &ret->size_bytes,      [4] = &ret->pid,
                [6] = &ret->n_attached, [14] = &ret->resident_bytes,
        };

        for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
                const char *word = text_next_word(arena, &line, " ");

                if (!word || (fields[i] && parse_u64(word, fields[i]) < 0))
                        return false;
        }
        return true;
}

SysvSegments sysv_segments_parse(Arena *arena, const char *text) {
        SysvSegments segments = {};
        SysvSegment segment;
        char *line;

        while (text && (line = text_next_word(arena, &text, "\n")))
                if (parse_segment(arena, line, &segment))
                        *vec_push(arena, &segments) = segment;
        return segments;
}
