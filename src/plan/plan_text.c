/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attempts and changes as hugeplanctl reads them from the daemon, and as text. */
#include "base/size.h"
#include "base/text.h"
#include "plan/attempt.h"
#include "plan/changes.h"

#include <string.h>

int attempt_from_json(const json_t *json, Attempt *ret) {
        json_int_t size, before, after, usec;
        const char *action;
        int node, error;

        if (json_unpack((json_t *) json, "{si sI ss sI sI sI si}", "node", &node, "pageSizeBytes",
                        &size, "action", &action, "pagesBefore", &before, "pagesAfter", &after,
                        "durationUSec", &usec, "errno", &error) < 0)
                return -EPROTO;
        for (int i = ESCALATION_WRITE; i < ESCALATION_DONE; i++)
                if (text_equals(action, escalation_action_name((EscalationAction) i))) {
                        *ret = (Attempt){(unsigned) node,
                                         (uint64_t) size,
                                         {(EscalationAction) i, (uint64_t) before, (uint64_t) after,
                                          (uint64_t) usec, -error}};
                        return 0;
                }
        return -EPROTO;
}

char *attempt_format(Arena *arena, const Attempt *attempt) {
        const EscalationRecord *record = &attempt->record;

        return arena_printf(
                arena, "node %u, %s: %s: %s -> %s page%s in %s%s%s", attempt->node,
                format_page_size(arena, attempt->page_size_bytes),
                escalation_action_name(record->action), format_count(arena, record->pages_before),
                format_count(arena, record->pages_after), record->pages_after == 1 ? "" : "s",
                format_duration(arena, record->usec), record->error < 0 ? ": " : "",
                record->error < 0 ? strerror(-record->error) : "");
}

int pool_change_from_json(const json_t *json, PoolChange *ret) {
        json_int_t size, before, after;
        int node;

        if (json_unpack((json_t *) json, "{si sI sI sI}", "node", &node, "pageSizeBytes", &size,
                        "from", &before, "to", &after) < 0)
                return -EPROTO;
        *ret = (PoolChange){(unsigned) node, (uint64_t) size, (uint64_t) before, (uint64_t) after};
        return 0;
}

char *pool_change_format(Arena *arena, const PoolChange *change) {
        return arena_printf(arena, "node %u: %s -> %s", change->node,
                            format_count(arena, change->pages_before),
                            format_page_count(arena, change->pages_after, change->page_size_bytes));
}

int change_from_json(Arena *arena, const json_t *json, Change *ret) {
        json_int_t size, before, after, kept;
        const char *instance, *kind;
        json_t *kept_by;
        int i;

        if (json_unpack((json_t *) json, "{ss ss sI sI sI so sI}", "instance", &instance, "change",
                        &kind, "pageSizeBytes", &size, "pagesBefore", &before, "pagesAfter", &after,
                        "keptBy", &kept_by, "pagesKept", &kept) < 0 ||
            (i = text_index(change_kind_names, CHANGE_KINDS, kind)) < 0)
                return -EPROTO;
        const char *keeper = json_string_value(kept_by);

        *ret = (Change){
                .instance = text_printable(arena, instance),
                .kind = (ChangeKind) i,
                .page_size_bytes = (uint64_t) size,
                .pages_before = (uint64_t) before,
                .pages_after = (uint64_t) after,
                .kept_by = keeper ? text_printable(arena, keeper) : NULL,
                .kept_pages = (uint64_t) kept,
        };
        return 0;
}

char *change_format(Arena *arena, const Change *change) {
        const char *before =
                format_page_count(arena, change->pages_before, change->page_size_bytes);
        const char *after = format_page_count(arena, change->pages_after, change->page_size_bytes);
        Text text = text_in(arena);

        text_printf(&text, "%s: %s", change->instance, change_kind_names[change->kind]);
        switch (change->kind) {
        case CHANGE_REFUSED:
                text_printf(&text, ", it had %s", before);
                break;
        case CHANGE_REMOVED:
                if (change->pages_before > 0)
                        text_printf(&text, ", %s", before);
                break;
        case CHANGE_ADDED:
        case CHANGE_MOVED:
                text_printf(&text, ", %s", after);
                break;
        case CHANGE_GROWN:
        case CHANGE_SHRUNK:
                text_printf(&text, " from %s to %s", format_count(arena, change->pages_before),
                            after);
                break;
        default:
                break;
        }
        if (change->kept_by)
                text_printf(&text, "; %s keeps the %s it runs with until it stops", change->kept_by,
                            format_count(arena, change->kept_pages));
        return text.string;
}
