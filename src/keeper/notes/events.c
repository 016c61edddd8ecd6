/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keeper/notes/events.h"

#include "base/size.h"
#include "base/text.h"
#include "runtime/log.h"

#include <syslog.h>

void event_report(const EventSink *events, const KeeperEvent *event) {
        events->listener(events->userdata, event);
}

void event_report_text(const EventSink *events, int level, const char *id, const char *text) {
        event_report(events, &(KeeperEvent){.level = level,
                                            .what = id ? HISTORY_PROBLEM : HISTORY_NONE,
                                            .id = id,
                                            .text = text});
}

void event_report_diag(const EventSink *events, const Diag *diag) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        event_report_text(events, log_level_of(diag->severity), diag->id, diag_format(arena, diag));
}

void event_report_setting(const EventSink *events, const char *text) {
        event_report(events, &(KeeperEvent){.level = LOG_INFO, .what = HISTORY_SET, .text = text});
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

void event_report_start(const EventSink *events, const PlanInstance *planned,
                        const Reason *refusal) {
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

        event_report(events, &event);
}

void event_report_size(const EventSink *events, const char *instance, const PageCount *count,
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

        event_report(events, &event);
}
