/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds programs of no other engine by their System V segments. */

#include "base/text.h"
#include "engines/finder.h"
#include "read/memory_map.h"

/* Smaller segments are not worth a reservation. */
static const uint64_t segments_bytes_min = 64 * MIB;

/* All segments of one process. */
typedef struct Segments {
        uint64_t pid;
        uint64_t bytes;
} Segments;

typedef VEC(Segments) SegmentsList;

static void add_segment(Arena *arena, SegmentsList *list, const SysvSegment *segment) {
        Segments *known = VEC_FIND(each, list, each->pid == segment->pid);

        if (!known) {
                known = vec_push(arena, list);
                known->pid = segment->pid;
        }
        known->bytes = add_saturated(known->bytes, segment->size_bytes);
}

static SegmentsList add_up_segments(Arena *arena, const char *text) {
        const SysvSegments segments = sysv_segments_parse(arena, text);
        SegmentsList list = {};

        VEC_FOREACH(segment, &segments)
                if (segment->size_bytes >= 2 * MIB)
                        add_segment(arena, &list, segment);
        return list;
}

static void find_rest(Finder *finder, const Engine *engine) {
        Arena *arena = finder->arena;
        SegmentsList segments = add_up_segments(arena, finder->sysv_segments);

        VEC_FOREACH(segment, &segments) {
                const RunningProcess *process =
                        VEC_FIND(each, finder->processes, each->pid == segment->pid);

                if (segment->bytes < segments_bytes_min || !process || !finder_service(process))
                        continue;
                finder_add(
                        finder,
                        &(Candidate){
                                .engine = engine,
                                .name = finder_stem(finder, process->unit),
                                .title = "A program with System V shared memory",
                                .found = arena_printf(arena, "process %" PRIu64, process->pid),
                                .target = {.unit = process->unit},
                                .memory_bytes = segment->bytes,
                                .note = "It must ask for huge pages itself (SHM_HUGETLB); see its manual",
                        });
        }
        finder_looked(finder, "programs with System V segments", segments.n);
}

const EngineFinder finder_generic = {.find_rest = find_rest};