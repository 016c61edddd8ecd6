/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/sysv_segments.h"

#include "base/size.h"
#include "base/text.h"

/* key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap */
SysvSegments sysv_segments_parse(Arena *arena, const char *text) {
        SysvSegments segments = {};
        SysvSegment segment;
        uint64_t *const fields[] = {
                [1] = &segment.id,         [3] = &segment.size_bytes,      [4] = &segment.pid,
                [6] = &segment.n_attached, [14] = &segment.resident_bytes,
        };
        const char *line;

        while (text && (line = text_next_word(arena, &text, "\n"))) {
                bool is_one = true;

                for (size_t i = 0; is_one && i < ARRAY_LEN(fields); i++) {
                        const char *word = text_next_word(arena, &line, " ");

                        is_one = word && (!fields[i] || parse_u64(word, fields[i]) == 0);
                }
                if (is_one)
                        *vec_push(arena, &segments) = segment;
        }
        return segments;
}
