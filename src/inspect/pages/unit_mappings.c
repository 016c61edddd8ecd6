/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/pages/unit_mappings.h"

#include "base/size.h"
#include "base/text.h"
#include "inspect/process_files.h"

enum {
        MAPS_BYTES_MAX = 8 << 20,   /* some 80,000 mappings */
        SMAPS_BYTES_MAX = 64 << 20, /* as many, in full */
        SMAPS_MAX = 64, /* processes that have something that others of the unit have not */
        STATUS_BYTES_MAX = 64 * 1024,
};

typedef struct Search {
        const Root *root;
        Arena *arena;
        Devices devices; /* of hugetlbfs */
        HugeMappings found;
        size_t n_smaps;
        uint64_t table_bytes, resident_bytes;
        bool is_complete;
} Search;

/* ---- one process ---- */

/* NULL where it has gone or may not be read; the latter leaves the search incomplete. */
static char *read_file(Search *search, Arena *arena, uint64_t pid, const char *name, size_t max,
                       size_t *ret_size) {
        char *text;
        int r = process_file_read(search->root, arena, pid, name, max, &text, ret_size);

        if (r < 0 && !process_file_is_gone(r))
                search->is_complete = false;
        return text;
}

static void read_status(Search *search, uint64_t pid) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        const char *text = read_file(search, scratch, pid, "status", STATUS_BYTES_MAX, NULL);

        if (!text)
                return;
        search->table_bytes =
                add_saturated(search->table_bytes, process_find_bytes(scratch, text, "VmPTE"));
        search->resident_bytes =
                MAX(search->resident_bytes, process_find_bytes(scratch, text, "VmRSS"));
}

static void read_process(Search *search, uint64_t pid) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        char *text = read_file(search, scratch, pid, "maps", MAPS_BYTES_MAX, NULL);

        if (!text || !process_maps_have_new(scratch, text, &search->devices, &search->found))
                return;
        if (search->n_smaps++ == SMAPS_MAX) {
                search->is_complete = false;
                return;
        }
        text = read_file(search, scratch, pid, "smaps", SMAPS_BYTES_MAX, NULL);
        if (!text)
                return;
        HugeMappings mappings = process_parse_smaps(scratch, text);

        vec_push_all(search->arena, &search->found, &mappings);
}

/* ---- segments ---- */

static int compare_parts(const void *a, const void *b) {
        const HugeMapping *first = a, *second = b;
        const uint64_t keys[][2] = {
                {first->device, second->device},
                {first->inode, second->inode},
                {first->offset_bytes, second->offset_bytes},
        };

        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
                if (keys[i][0] != keys[i][1])
                        return keys[i][0] < keys[i][1] ? -1 : 1;
        return 0;
}

/* What several map, or one does twice, counts once. */
static HugeMappings join_parts(Arena *arena, HugeMappings *found) {
        HugeMappings joined = {};

        vec_sort(found, compare_parts);
        VEC_FOREACH(part, found) {
                HugeMapping *last = joined.n > 0 ? &joined.items[joined.n - 1] : NULL;
                uint64_t end = add_saturated(part->offset_bytes, part->length_bytes);

                if (last && last->device == part->device && last->inode == part->inode &&
                    part->offset_bytes <= last->offset_bytes + last->length_bytes)
                        last->length_bytes = MAX(last->length_bytes, end - last->offset_bytes);
                else
                        *vec_push(arena, &joined) = *part;
        }
        return joined;
}

UnitMappings unit_mappings_read(const Root *root, Arena *arena, const char *unit) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        Search search = {.root = root, .arena = arena, .is_complete = true};
        const ProcessIds ids =
                unit_cgroup_processes(root, scratch, unit_cgroup_find(root, scratch, unit));

        /* Its own mounts: what is in a container is not among ours. */
        if (ids.n > 0)
                search.devices = process_file_hugetlbfs(root, scratch, ids.items[0]);
        VEC_FOREACH(pid, &ids) {
                read_status(&search, *pid);
                read_process(&search, *pid);
        }
        return (UnitMappings){
                .segments = join_parts(arena, &search.found),
                .n_processes = ids.n,
                .table_bytes = search.table_bytes,
                .resident_bytes = search.resident_bytes,
                .is_complete = search.is_complete,
        };
}

uint64_t process_mappings_bytes(const Root *root, uint64_t pid) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Search search = {.root = root, .arena = arena, .is_complete = true};

        search.devices = process_file_hugetlbfs(root, arena, pid);
        read_process(&search, pid);
        const HugeMappings segments = join_parts(arena, &search.found);

        return VEC_SUM(segment, &segments, segment->length_bytes);
}

PageCounts unit_mappings_huge(Arena *arena, const UnitMappings *mappings) {
        PageCounts counts = {};

        VEC_FOREACH(segment, &mappings->segments) {
                if (segment->is_small)
                        continue;
                PageCount *count = VEC_FIND(known, &counts,
                                            known->page_size_bytes == segment->page_size_bytes);

                if (!count) {
                        count = vec_push(arena, &counts);
                        *count = (PageCount){segment->page_size_bytes, 0};
                }
                count->pages += div_round_up(segment->length_bytes, segment->page_size_bytes);
        }
        return counts;
}

uint64_t unit_mappings_small(const UnitMappings *mappings, uint64_t page_size_bytes) {
        return VEC_SUM(segment, &mappings->segments,
                       segment->is_small && segment->length_bytes >= page_size_bytes
                               ? div_round_up(segment->length_bytes, page_size_bytes)
                               : 0);
}
