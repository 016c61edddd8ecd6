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
