/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/effort.h"

#include "base/size.h"
#include "base/text.h"

#include <string.h>

json_t *effort_to_json(const Effort *effort) {
        const LadderRecord *record = &effort->record;

        return json_pack("{si sI ss sI sI sI si}", "node", (int) effort->node, "pageSizeBytes",
                         (json_int_t) effort->page_size_bytes, "action",
                         ladder_action_name(record->action), "pagesBefore",
                         (json_int_t) record->pages_before, "pagesAfter",
                         (json_int_t) record->pages_after, "durationUSec",
                         (json_int_t) record->usec, "errno", -record->error);
}

int effort_from_json(const json_t *json, Effort *ret) {
        json_int_t size, before, after, usec;
        const char *action;
        int node, error;

        if (json_unpack((json_t *) json, "{si sI ss sI sI sI si}", "node", &node, "pageSizeBytes",
                        &size, "action", &action, "pagesBefore", &before, "pagesAfter", &after,
                        "durationUSec", &usec, "errno", &error) < 0)
                return -EPROTO;
        for (int i = LADDER_WRITE; i < LADDER_DONE; i++)
                if (text_equals(action, ladder_action_name((LadderAction) i))) {
                        *ret = (Effort){(unsigned) node,
                                        (uint64_t) size,
                                        {(LadderAction) i, (uint64_t) before, (uint64_t) after,
                                         (uint64_t) usec, -error}};
                        return 0;
                }
        return -EPROTO;
}

char *effort_format(Arena *arena, const Effort *effort) {
        const LadderRecord *record = &effort->record;

        return arena_printf(
                arena, "node %u, %s: %s: %s -> %s pages in %s%s%s", effort->node,
                format_page_size(arena, effort->page_size_bytes),
                ladder_action_name(record->action), format_count(arena, record->pages_before),
                format_count(arena, record->pages_after), format_duration(arena, record->usec),
                record->error < 0 ? ": " : "", record->error < 0 ? strerror(-record->error) : "");
}
