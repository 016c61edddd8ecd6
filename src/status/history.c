/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/history.h"

#include "base/text.h"
#include "status/status.h"

#include <stddef.h>

static const struct {
        const char *name, *kind;
} events[] = {
        [HISTORY_PROBLEM] = {"problem"},
        [HISTORY_RESERVED] = {"reserved", "pool"},
        [HISTORY_REPAIRED] = {"repaired", "pool"},
        [HISTORY_SHORT] = {"short", "pool"},
        [HISTORY_GIVEN_BACK] = {"given-back", "pool"},
        [HISTORY_DRIFT] = {"drift"},
        [HISTORY_SET] = {"set", "host-set"},
        [HISTORY_LEARNED] = {"learned", "learned"},
        [HISTORY_GATE_PASSED] = {"gate-passed", "start"},
        [HISTORY_GATE_REFUSED] = {"gate-refused", "start"},
};

const char *history_event_name(HistoryEvent event) {
        return events[event].name;
}

const char *history_event_kind(HistoryEvent event) {
        return events[event].kind;
}

/* ---- fields ---- */

#define TEXT_FIELD(field, member) \
        { field, offsetof(HistoryEntry, member), false }
#define NUMBER_FIELD(field, member) \
        { field, offsetof(HistoryEntry, member), true }
static const char instance_field[] = "HUGEPLAN_INSTANCE"; /* as often as there are instances */
static const struct {
        const char *name;
        size_t at;
        bool is_number;
} fields[] = {
        TEXT_FIELD("MESSAGE", text),
        NUMBER_FIELD("PRIORITY", level),
        TEXT_FIELD("HUGEPLAN_EVENT", event),
        TEXT_FIELD("HUGEPLAN_KIND", kind),
        TEXT_FIELD("HUGEPLAN_BY", by),
        NUMBER_FIELD("HUGEPLAN_NODE", figures.node),
        NUMBER_FIELD("HUGEPLAN_PAGE_SIZE", figures.page_size_bytes),
        NUMBER_FIELD("HUGEPLAN_PAGES_BEFORE", figures.pages_before),
        NUMBER_FIELD("HUGEPLAN_PAGES", figures.pages),
        NUMBER_FIELD("HUGEPLAN_PAGES_WANTED", figures.pages_wanted),
        TEXT_FIELD("UNIT", unit),
        TEXT_FIELD("CONFIG_FILE", file),
        NUMBER_FIELD("CONFIG_LINE", line),
};

static const char *field_value(Arena *arena, const HistoryEntry *entry, size_t i) {
        const void *at = (const char *) entry + fields[i].at;
        const HistoryNumber *number = at;

        if (!fields[i].is_number)
                return *(const char *const *) at;
        return number->is_known ? arena_printf(arena, "%" PRIu64, number->value) : NULL;
}

SourceNames history_to_fields(Arena *arena, const HistoryEntry *entry) {
        SourceNames list = {};

        for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
                const char *value = field_value(arena, entry, i);

                if (value)
                        *vec_push(arena, &list) = arena_printf(arena, "%s=%s", fields[i].name,
                                                               text_printable(arena, value));
        }
        VEC_FOREACH(instance, &entry->instances)
                *vec_push(arena, &list) = arena_printf(arena, "%s=%s", instance_field, *instance);
        return list;
}

void history_take_field(Arena *arena, HistoryEntry *entry, const char *field, size_t length) {
        const char *text = arena_strndup(arena, field, length), *equals = strchr(text, '=');

        if (!equals)
                return;
        const char *name = arena_strdup_to(arena, text, equals);
        const char *value = text_printable(arena, equals + 1);

        if (text_equals(name, instance_field))
                *vec_push(arena, &entry->instances) = value;
        for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
                void *at = (char *) entry + fields[i].at;
                uint64_t number;

                if (!text_equals(name, fields[i].name))
                        continue;
                if (!fields[i].is_number)
                        *(const char **) at = value;
                else if (parse_u64(value, &number) == 0)
                        *(HistoryNumber *) at = HISTORY_NUMBER(number);
        }
}

/* ---- as a whole ---- */

static bool is_verdict(const HistoryEntry *entry) {
        Verdict verdict;

        return entry->instances.n == 1 && verdict_from_name(entry->event, &verdict) == 0;
}

/* The last verdict on the same instance before entry N. */
static const HistoryEntry *last_verdict(const HistoryEntry *entries, size_t n) {
        const char *instance = entries[n].instances.items[0];

        while (n-- > 0)
                if (is_verdict(&entries[n]) && text_equals(entries[n].instances.items[0], instance))
                        return &entries[n];
        return NULL;
}

uint64_t history_unused_since(const HistoryEntries *history, const char *instance) {
        uint64_t since_usec = 0;

        VEC_FOREACH(entry, history) {
                if (!source_names_have(&entry->instances, instance))
                        continue;
                if (text_equals(entry->event, history_event_name(HISTORY_GATE_PASSED)))
                        return 0;
                if (is_verdict(entry))
                        since_usec = !text_equals(entry->event, verdict_name(VERDICT_READY)) ? 0
                                     : since_usec > 0 ? since_usec
                                                      : entry->at_usec;
        }
        return since_usec;
}

void history_fold(HistoryEntries *history) {
        size_t n = 0;

        VEC_FOREACH(entry, history) {
                history->items[n] = *entry;
                const HistoryEntry *last = is_verdict(entry) ? last_verdict(history->items, n)
                                                             : NULL;

                if (!last || !text_equals(last->boot, entry->boot) ||
                    !text_equals(last->event, entry->event) ||
                    !text_equals(last->kind, entry->kind))
                        n++;
        }
        history->n = n;
}
