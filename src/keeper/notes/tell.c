/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keeper/notes/tell.h"

#include "base/size.h"
#include "base/text.h"
#include "runtime/log.h"

#include <syslog.h>

void tell_event(const Teller *teller, const KeeperEvent *event) {
        teller->listener(teller->userdata, event);
}

void tell_text(const Teller *teller, int level, const char *id, const char *text) {
        tell_event(teller, &(KeeperEvent){.level = level,
                                          .what = id ? HISTORY_PROBLEM : HISTORY_NONE,
                                          .id = id,
                                          .text = text});
}

void tell_diag(const Teller *teller, const Diag *diag) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        tell_text(teller, log_level_of(diag->severity), diag->id, diag_format(arena, diag));
}

void tell_set(const Teller *teller, const char *text) {
        tell_event(teller, &(KeeperEvent){.level = LOG_INFO, .what = HISTORY_SET, .text = text});
}

static HistoryFigures figures_of(const PlanInstance *planned) {
        if (planned->page_size_bytes == 0)
                return (HistoryFigures){};
        return (HistoryFigures){
                .page_size_bytes = HISTORY_NUMBER(planned->page_size_bytes),
                .pages = HISTORY_NUMBER(planned->pages_granted),
                .pages_wanted = HISTORY_NUMBER(planned->pages_wanted),
        };
}

void tell_start(const Teller *teller, const PlanInstance *planned, const Reason *refusal) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const InstanceConfig *config = planned->demand->config;
        const char *pages = arena_printf(arena, "%s pages of %s",
                                         format_count(arena, planned->pages_granted),
                                         format_page_size(arena, planned->page_size_bytes));
        const KeeperEvent event = {
                .level = refusal ? LOG_WARNING : LOG_INFO,
                .what = refusal ? HISTORY_GATE_REFUSED : HISTORY_GATE_PASSED,
                .instance = config->name,
                .text = refusal ? arena_printf(arena, "%s: its start is refused: %s", config->name,
                                               refusal->text)
                                : arena_printf(arena, "%s: may start with %s", config->name,
                                               planned->page_size_bytes > 0 ? pages
                                                                            : "no huge pages"),
                .figures = figures_of(planned),
        };

        tell_event(teller, &event);
}

void tell_learned(const Teller *teller, const char *instance, const PageCount *count,
                  uint64_t pages_before) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        KeeperEvent event = {
                .level = LOG_INFO,
                .what = HISTORY_LEARNED,
                .instance = instance,
                .text = arena_printf(arena, "%s: was found to need %s pages of %s (before: %s)",
                                     instance, format_count(arena, count->pages),
                                     format_page_size(arena, count->page_size_bytes),
                                     format_count(arena, pages_before)),
                .figures = {.page_size_bytes = HISTORY_NUMBER(count->page_size_bytes),
                            .pages_before = HISTORY_NUMBER(pages_before),
                            .pages_wanted = HISTORY_NUMBER(count->pages)},
        };

        tell_event(teller, &event);
}
