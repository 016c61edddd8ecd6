/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/history.h"

#include "base/text.h"

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
const HistoryField history_fields[] = {
        TEXT_FIELD("MESSAGE", text),
        NUMBER_FIELD("PRIORITY", level),
        TEXT_FIELD("HUGEPLAN_EVENT", event),
        TEXT_FIELD("HUGEPLAN_KIND", kind),
        NUMBER_FIELD("HUGEPLAN_NODE", figures.node),
        NUMBER_FIELD("HUGEPLAN_PAGE_SIZE", figures.page_size_bytes),
        NUMBER_FIELD("HUGEPLAN_PAGES_BEFORE", figures.pages_before),
        NUMBER_FIELD("HUGEPLAN_PAGES", figures.pages),
        NUMBER_FIELD("HUGEPLAN_PAGES_WANTED", figures.pages_wanted),
        TEXT_FIELD("UNIT", unit),
        TEXT_FIELD("CONFIG_FILE", file),
        NUMBER_FIELD("CONFIG_LINE", line),
};
const size_t n_history_fields = ARRAY_LEN(history_fields);

static const char *field_value(Arena *arena, const HistoryEntry *entry, const HistoryField *field) {
        const void *at = (const char *) entry + field->at;
        const HistoryNumber *number = at;

        if (!field->is_number)
                return *(const char *const *) at;
        return number->is_known ? arena_printf(arena, "%" PRIu64, number->value) : NULL;
}

SourceNames history_to_fields(Arena *arena, const HistoryEntry *entry) {
        SourceNames list = {};

        ARRAY_FOREACH(field, history_fields, n_history_fields) {
                const char *value = field_value(arena, entry, field);

                if (value)
                        *vec_push(arena, &list) = arena_printf(arena, "%s=%s", field->name,
                                                               text_printable(arena, value));
        }
        VEC_FOREACH(instance, &entry->instances)
                *vec_push(arena, &list) =
                        arena_printf(arena, HISTORY_INSTANCE_FIELD "=%s", *instance);
        return list;
}
