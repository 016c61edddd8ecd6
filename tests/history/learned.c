/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sizes of instances with Memory=auto: what their gates report, and what hugepland counts of running units
 * (daemon/clients/belief.c, daemon/manager.c). */
#include "history/history.h"

#include "base/text.h"
#include "demand/learned.h"
#include "host/config_load.h"
#include "host/state.h"

const Described *described_auto(const History *history, const char *instance) {
        return ARRAY_FIND(each, history->described, DESCRIBED,
                          each->is_auto && text_equals(each->name, instance));
}

static void store(History *history, Arena *arena, const InstanceConfig *instance,
                  const Learned *learned) {
        const LearnedFile file = learned_file(arena, instance, learned);

        if (learned_is_kept(instance, learned))
                return;
        trace(history, "      %s", learned_describe(arena, instance, learned));
        root_store_file(history->root, file.path, file.text);
}

/* A rule's size is what the server takes, or a little more; its settings have changed when the size has. */
void daemon_report_size(History *history, const char *name) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Config *files = config_load(history->root, arena, NULL);
        const Described *truth = described_auto(history, name);
        const InstanceConfig *known = config_find(keeper_config(history->keeper), name);
        const InstanceConfig *described = config_find(files, name);

        if (!truth || !known || !described || described->refusal ||
            known->memory_kind != MEMORY_AUTO || described->memory_kind != MEMORY_AUTO)
                return;
        Learned learned = {
                .version = "17.2",
                .settings = arena_printf(arena, "%" PRIu64, truth->pages),
                .seen = described->learned.seen,
                .is_exact = chance(history, 30),
        };

        *vec_push(arena, &learned.pages) =
                (PageCount){truth->page_bytes, truth->pages + draw(history, 0, 8)};
        const PageCounts pages = learned_pages(arena, described, &learned);

        trace(history, "        its gate reports %" PRIu64 " pages", learned.pages.items->pages);
        keeper_grow(history->keeper, described, &pages, history->now_usec);
        if (learned_beyond(arena, files, described, keeper_look(history->keeper)->topology,
                           &learned.pages)
                    .kind == REASON_NONE)
                store(history, arena, described, &learned);
}

void daemon_count(History *history) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Config *files = config_load(history->root, arena, NULL);

        for (unsigned i = 0; i < 2 && !keeper_is_working(history->keeper); i++) {
                const LearnedNewsList all =
                        keeper_count(history->keeper, arena, files, history->now_usec);

                VEC_FOREACH(each, &all)
                        store(history, arena, each->instance, &each->learned);
                history->now_usec += 5 * USEC_PER_SEC;
        }
}
