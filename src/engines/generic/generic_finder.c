/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds programs of no other engine by their System V segments. */

#include "engines/finder.h"
#include "read/process.h"

/* Smaller segments are not worth a reservation. */
static const uint64_t segments_bytes_min = 64 * MIB;

static void find_rest(Finder *finder, const Engine *engine) {
        Arena *arena = finder->arena;
        const SysvSegments segments = sysv_segments_parse(arena, finder->sysv_segments);
        SysvSegments sums = {}; /* one for each process that made segments */

        VEC_FOREACH(segment, &segments) {
                SysvSegment *sum = VEC_FIND(each, &sums, each->pid == segment->pid);

                if (segment->size_bytes < 2 * MIB)
                        continue;
                if (sum)
                        sum->size_bytes = add_saturated(sum->size_bytes, segment->size_bytes);
                else
                        *vec_push(arena, &sums) = *segment;
        }
        VEC_FOREACH(sum, &sums) {
                const Process *process = VEC_FIND(each, finder->processes, each->pid == sum->pid);

                if (sum->size_bytes < segments_bytes_min || !process || !finder_service(process))
                        continue;
                finder_add(
                        finder,
                        &(Candidate){
                                .engine = engine,
                                .name = finder_stem(finder, process->unit),
                                .title = "A program with System V shared memory",
                                .found = arena_printf(arena, "process %" PRIu64, process->pid),
                                .target = {.unit = process->unit},
                                .memory_bytes = sum->size_bytes,
                                .note = "It must ask for huge pages itself (SHM_HUGETLB); see its manual",
                        });
        }
}

const EngineFinder finder_generic = {.find_rest = find_rest};