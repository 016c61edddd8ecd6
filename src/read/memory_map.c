/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/process.h"

#include "base/size.h"
#include "base/text.h"

#include <stdlib.h>

/* Smaller mappings belong to libraries and threads. */
static const uint64_t main_bytes_min = 16 * MIB;

static int compare_address(const void *key, const void *mapping) {
        uint64_t address = *(const uint64_t *) key,
                 other = ((const HugeMapping *) mapping)->address;

        return address < other ? -1 : address > other;
}

MemoryMap memory_map_parse(Arena *arena, const char *maps, const char *numa_maps,
                           const Devices *hugetlbfs) {
        /* From shmget(2) and memfd_create(2), whose kind of pages maps does not show, and MAP_SHARED|MAP_ANONYMOUS. */
        static const char *const unnamed[] = {"/SYSV", "/memfd:", "/dev/zero (deleted)"};
        enum { N_DOUBTFUL = 2 };
        HugeMappings huge = numa_maps ? process_parse_numa_maps(arena, numa_maps)
                                      : (HugeMappings){};
        MemoryMap map = {};
        MapsLine line;

        while (process_next_map(arena, &maps, &line)) {
                bool is_huge = text_starts_with(line.path, "/anon_hugepage") ||
                               VEC_ANY(device, hugetlbfs, *device == line.device);
                const char *const *name = ARRAY_FIND(each, unnamed, ARRAY_LEN(unnamed),
                                                     text_starts_with(line.path, *each));
                bool is_aligned = (line.start | line.end) % HUGE_PAGE_BYTES_MIN == 0;
                uint64_t bytes = line.end - line.start;
                bool is_listed = huge.n > 0 && /* by address, as numa_maps is */
                                 bsearch(&line.start, huge.items, huge.n, sizeof(*huge.items),
                                         compare_address);

                if (is_huge || is_listed) {
                        map.huge_bytes = add_saturated(map.huge_bytes, bytes);
                        continue;
                }
                if (!numa_maps && name && name < unnamed + N_DOUBTFUL && is_aligned) {
                        map.doubtful_bytes = add_saturated(map.doubtful_bytes, bytes);
                        continue;
                }
                /* Small pages, possibly a fallback from huge ones. */
                if (!line.is_private && bytes >= HUGE_PAGE_BYTES_MIN && name)
                        map.unnamed_bytes = add_saturated(map.unnamed_bytes, bytes);
                if ((bytes < main_bytes_min && !text_starts_with(line.path, "/dev/zero")) ||
                    !line.is_writable)
                        continue;
                if (!line.is_private) {
                        map.shared_bytes = add_saturated(map.shared_bytes, bytes);
                        if (text_starts_with(line.path, "/SYSV"))
                                map.sysv_bytes = add_saturated(map.sysv_bytes, bytes);
                } else if (line.inode == 0 && !text_equals(line.path, "[heap]")) {
                        map.private_bytes = add_saturated(map.private_bytes, bytes);
                        map.private_largest_bytes = MAX(map.private_largest_bytes, bytes);
                }
        }
        return map;
}

/* ---- System V segments ---- */

/* key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap */
SysvSegments sysv_segments_parse(Arena *arena, const char *text) {
        SysvSegments segments = {};
        SysvSegment segment;
        uint64_t *const fields[] = {
                [1] = &segment.id,         [3] = &segment.size_bytes,      [4] = &segment.pid,
                [6] = &segment.n_attached, [14] = &segment.resident_bytes,
        };

        TEXT_FOREACH(line, arena, text, "\n") {
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
