/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading history: the second half of history.h. */
#include "base/index.h"
#include "base/size.h"
#include "base/text.h"
#include "status/history.h"
#include "status/status.h"

void history_take_field(Arena *arena, HistoryEntry *entry, const char *field, size_t length) {
        const char *text = arena_strndup(arena, field, length), *equals = strchr(text, '=');

        if (!equals)
                return;
        const char *name = arena_strdup_to(arena, text, equals);
        const char *value = text_printable(arena, equals + 1);

        if (text_equals(name, HISTORY_INSTANCE_FIELD))
                *vec_push(arena, &entry->instances) = value;
        ARRAY_FOREACH(known, history_fields, n_history_fields) {
                void *at = (char *) entry + known->at;
                uint64_t number;

                if (!text_equals(name, known->name))
                        continue;
                if (!known->is_number)
                        *(const char **) at = value;
                else if (parse_u64(value, &number) == 0)
                        *(HistoryNumber *) at = HISTORY_NUMBER(number);
        }
}

static bool is_verdict(const HistoryEntry *entry) {
        Verdict verdict;

        return entry->instances.n > 0 && verdict_from_name(entry->event, &verdict) == 0;
}

uint64_t history_unused_since(const HistoryEntries *history, const char *instance) {
        uint64_t since_usec = 0;

        VEC_FOREACH(entry, history) {
                if (!source_names_have(&entry->instances, instance))
                        continue;
                if (text_equals(entry->event, history_events[HISTORY_GATE_PASSED].name))
                        return 0;
                if (is_verdict(entry))
                        since_usec = !text_equals(entry->event, verdict_name(VERDICT_READY)) ? 0
                                     : since_usec > 0 ? since_usec
                                                      : entry->at_usec;
        }
        return since_usec;
}

/* Returns whether ENTRY reports more pages of this size than hugepland had left. */
static bool is_addition(const HistoryEntry *entry, uint64_t page_size_bytes) {
        const HistoryFigures *figures = &entry->figures;

        return text_equals(entry->event, history_events[HISTORY_DRIFT].name) &&
               figures->node.is_known && figures->page_size_bytes.value == page_size_bytes &&
               figures->pages.value > figures->pages_before.value;
}

const char *history_say_who(Arena *arena, const HistoryEntries *history, uint64_t page_size_bytes) {
        const HistoryEntry *end = history->items + history->n;
        Text text = text_in(arena);

        VEC_FOREACH(entry, history)
                if (is_addition(entry, page_size_bytes) &&
                    !ARRAY_ANY(later, entry + 1, (size_t) (end - entry - 1),
                               is_addition(later, page_size_bytes) &&
                                       later->figures.node.value == entry->figures.node.value))
                        text_printf(&text, "%s%s: %s to %s on node %" PRIu64,
                                    text.length > 0 ? "; " : "", entry->at,
                                    format_count(arena, entry->figures.pages_before.value),
                                    format_page_count(arena, entry->figures.pages.value,
                                                      page_size_bytes),
                                    entry->figures.node.value);
        if (text.length > 0)
                return arena_printf(arena, "%s, not by hugeplan", text_string(&text));
        return arena_printf(
                arena, "who set them is not known: %s",
                history->missing
                        ? history->missing
                        : "hugepland has not run in this boot, or has seen no change of them");
}

void history_fold(HistoryEntries *history) {
        typedef struct Last {
                const char *event, *kind;
        } Last;
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Index *by_instance = index_new(arena);
        size_t n = 0;

        VEC_FOREACH(entry, history) {
                bool is_repeated = is_verdict(entry);

                for (size_t i = 0; is_verdict(entry) && i < entry->instances.n; i++) {
                        const char *name = entry->instances.items[i];
                        Last *last = (Last *) index_find(by_instance, name);

                        if (!last)
                                index_add(by_instance, name, last = ARENA_NEW(arena, Last));
                        is_repeated &= text_equals(last->event, entry->event) &&
                                       text_equals(last->kind, entry->kind);
                        *last = (Last){entry->event, entry->kind};
                }
                if (!is_repeated)
                        history->items[n++] = *entry;
        }
        history->n = n;
}
