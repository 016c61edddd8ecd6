/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"
#include "engines/finder.h"

static void find_running(Finder *finder, const Engine *engine) {
        VEC_FOREACH(process, finder->processes) {
                if (!process->unit || !text_ends_with(process->unit, ".service") ||
                    !source_names_have(&process->arguments, "-XX:+UseLargePages"))
                        continue;
                finder_add(finder, &(Candidate){
                                           .engine = engine,
                                           .name = finder_stem(finder, process->unit),
                                           .title = "Java with large pages",
                                           .found = arena_printf(finder->arena, "process %" PRIu64,
                                                                 process->pid),
                                           .target = {.unit = process->unit,
                                                      .user = finder_user(finder, process)},
                                           .peak_bytes = process->peak_bytes,
                                   });
        }
}

const EngineFinder finder_jvm = {.find_running = find_running};
