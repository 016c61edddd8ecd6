/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attempts that hugeplanctl reads from the daemon, and their text. */
#include "base/size.h"
#include "base/text.h"
#include "escalation/attempt.h"

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
                arena, "node %u, %s: %s: %s -> %s pages in %s%s%s", attempt->node,
                format_page_size(arena, attempt->page_size_bytes),
                escalation_action_name(record->action), format_count(arena, record->pages_before),
                format_count(arena, record->pages_after), format_duration(arena, record->usec),
                record->error < 0 ? ": " : "", record->error < 0 ? strerror(-record->error) : "");
}
