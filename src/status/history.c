/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/history.h"

#include "base/text.h"
#include "status/messages.h"

#include <stddef.h>
#include <string.h>

const HistoryEventRow history_events[] = {
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

SourceNames history_to_fields(Arena *arena, const HistoryEntry *entry) {
        SourceNames list = {};

        ARRAY_FOREACH(field, history_fields, n_history_fields) {
                const void *at = (const char *) entry + field->at;
                const HistoryNumber *number = at;
                const char *value = !field->is_number ? *(const char *const *) at
                                    : number->is_known
                                            ? arena_printf(arena, "%" PRIu64, number->value)
                                            : NULL;

                if (value)
                        *vec_push(arena, &list) = arena_printf(arena, "%s=%s", field->name,
                                                               text_printable(arena, value));
        }
        VEC_FOREACH(instance, &entry->instances)
                *vec_push(arena, &list) =
                        arena_printf(arena, HISTORY_INSTANCE_FIELD "=%s", *instance);
        return list;
}

/* ---- message identifiers ---- */

const Message messages[] = {HUGEPLAN_MESSAGES};
const size_t n_messages = ARRAY_LEN(messages);

static const Message *find_message(const char *kind, size_t length) {
        return ARRAY_FIND(message, messages, n_messages,
                          strlen(message->kind) == length &&
                                  strncmp(message->kind, kind, length) == 0);
}

const Message *message_find(const char *kind) {
        const Message *message = kind ? find_message(kind, strlen(kind)) : NULL;

        return message || !kind ? message : find_message(kind, strcspn(kind, "-"));
}

const char *message_kind(const StatusInstance *instance) {
        switch (instance->verdict) {
        case VERDICT_READY:
        case VERDICT_PENDING:
                return verdict_name(instance->verdict);
        case VERDICT_INVALID:
                return reason_id(REASON_CONFIG);
        default:
                return reason_id(instance->reason.kind);
        }
}
