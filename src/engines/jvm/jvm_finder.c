/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"
#include "engines/finder.h"
#include "engines/jvm/jvm_products.h"

/* What runs with large pages; its unit's files may tell why. */
static void find_running(Finder *finder, const Engine *engine) {
        VEC_FOREACH(process, finder->processes) {
                const char *service = finder_service(process);
                const char *found = arena_printf(finder->arena, "process %" PRIu64, process->pid);

                if (!source_names_have(&process->arguments, "-XX:+UseLargePages"))
                        continue;
                if (!service && !finder->is_elsewhere)
                        finder_pass(finder, arena_printf(finder->arena, "%s (java)", found),
                                    "no unit starts it");
                else
                        finder_add(finder,
                                   &(Candidate){
                                           .engine = engine,
                                           .name = service ? finder_stem(finder, service) : "java",
                                           .title = "Java with large pages",
                                           .found = found,
                                           .target = {.unit = service,
                                                      .user = finder_user(finder, process)},
                                           .process = process,
                                   });
        }
}

/* Any program may be written in Java: who is none of the products is named only if it takes huge pages. */
static void describe(Finder *finder UNUSED, Candidate *candidate, const UnitFile *unit,
                     const char *program) {
        const JvmProduct *product = jvm_product_of_names(unit->name, program);

        if (product)
                candidate->title = product->title;
        candidate->is_guess = candidate->is_guess || !product || text_equals(program, "startup.sh");
}

const EngineFinder finder_jvm = {.find_running = find_running, .describe = describe};
