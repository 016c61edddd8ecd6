/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keeper/keeper_state.h"

#include "base/size.h"
#include "model/problem.h"
#include "runtime/log.h"

#include <syslog.h>

/* Adds the instances that have pages in the pool of ENTRY, or would if it had not come out short. */
static void add_instances(const Plan *plan, Arena *arena, bool is_short, HistoryEntry *entry) {
        unsigned node = (unsigned) entry->figures.node.value;

        ARRAY_FOREACH(instance, plan->instances, plan->n_instances)
                if (instance->page_size_bytes == entry->figures.page_size_bytes.value &&
                    (pages_find_on(&instance->grants, node) ||
                     (is_short && instance->pages_granted < instance->pages_wanted &&
                      id_set_has(&instance->demand->nodes, node))))
                        *vec_push(arena, &entry->instances) = instance->demand->config->name;
}

void keeper_report_event(const Keeper *keeper, int level, HistoryEvent what, HistoryEntry entry) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        entry.level = HISTORY_NUMBER((uint64_t) level);
        entry.event = history_events[what].name;
        entry.kind = entry.kind ? entry.kind : history_events[what].kind;
        if (entry.figures.node.is_known)
                add_instances(keeper->known.look->plan, arena, what == HISTORY_SHORT, &entry);
        keeper->events.listener(keeper->events.userdata, &entry);
}

void keeper_report(const Keeper *keeper, int level, const char *id, const char *format, ...) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        va_list arguments;

        va_start(arguments, format);
        keeper_report_event(
                keeper, level, id ? HISTORY_PROBLEM : HISTORY_NONE,
                (HistoryEntry){.kind = id, .text = arena_vprintf(arena, format, arguments)});
        va_end(arguments);
}

void keeper_report_diag(const Keeper *keeper, const Diag *diag) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        keeper_report(keeper, log_level_of(diag->severity), diag->id, "%s",
                      diag_format(arena, diag));
}

void keeper_report_start(const Keeper *keeper, const PlanInstance *planned, const Reason *refusal) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *name = planned->demand->config->name;
        const char *pages =
                format_page_count(arena, planned->pages_granted, planned->page_size_bytes);
        HistoryEntry entry = {
                .instances = {&name, 1, 1},
                .text = refusal ? arena_printf(arena, "%s: its start is refused: %s", name,
                                               refusal->text)
                                : arena_printf(arena, "%s: may start with %s", name,
                                               planned->page_size_bytes > 0 ? pages
                                                                            : "no huge pages"),
        };

        if (planned->page_size_bytes > 0)
                entry.figures = (HistoryFigures){
                        .page_size_bytes = HISTORY_NUMBER(planned->page_size_bytes),
                        .pages = HISTORY_NUMBER(planned->pages_granted),
                        .pages_wanted = HISTORY_NUMBER(planned->pages_wanted)};
        keeper_report_event(keeper, refusal ? LOG_WARNING : LOG_INFO,
                            refusal ? HISTORY_GATE_REFUSED : HISTORY_GATE_PASSED, entry);
}

void keeper_report_size(const Keeper *keeper, const char *instance, const PageCount *count,
                        uint64_t pages_before) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const HistoryEntry entry = {
                .instances = {&instance, 1, 1},
                .text = arena_printf(arena, "%s: was determined to need %s (before: %s)", instance,
                                     format_page_count(arena, count->pages, count->page_size_bytes),
                                     format_count(arena, pages_before)),
                .figures = {.page_size_bytes = HISTORY_NUMBER(count->page_size_bytes),
                            .pages_before = HISTORY_NUMBER(pages_before),
                            .pages_wanted = HISTORY_NUMBER(count->pages)},
        };

        keeper_report_event(keeper, LOG_INFO, HISTORY_LEARNED, entry);
}

void keeper_report_drift(const Keeper *keeper, const Drift *drift) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        HistoryEntry entry = {
                .kind = problem_id(PROBLEM_DRIFT),
                .text = arena_printf(arena, "drift: %s%s", drift_format(arena, drift),
                                     drift->kind == DRIFT_POOL_LOWERED || drift->kind == DRIFT_HOST
                                             ? "; 'hugeplanctl check' lists what may set it"
                                             : ""),
        };

        if (drift->kind != DRIFT_HOST)
                entry.figures = (HistoryFigures){
                        .node = HISTORY_NUMBER(drift->node),
                        .page_size_bytes = HISTORY_NUMBER(drift->page_size_bytes),
                        .pages_before = HISTORY_NUMBER(drift->expected_pages),
                        .pages = HISTORY_NUMBER(drift->found_pages),
                };
        keeper_report_event(keeper, drift_wants_repair(drift) ? LOG_WARNING : LOG_NOTICE,
                            HISTORY_DRIFT, entry);
}
