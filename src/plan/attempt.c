/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/attempt.h"

const char *escalation_action_name(EscalationAction action) {
        static const char *const names[] = {
                [ESCALATION_WRITE] = "write",     [ESCALATION_RECLAIM] = "reclaim",
                [ESCALATION_COMPACT] = "compact", [ESCALATION_DROP_CACHES] = "drop-caches",
                [ESCALATION_DEMOTE] = "demote",   [ESCALATION_DONE] = "done",
        };

        return names[action];
}

json_t *attempt_to_json(const Attempt *attempt) {
        const EscalationRecord *record = &attempt->record;

        return json_pack("{si sI ss sI sI sI si}", "node", (int) attempt->node, "pageSizeBytes",
                         (json_int_t) attempt->page_size_bytes, "action",
                         escalation_action_name(record->action), "pagesBefore",
                         (json_int_t) record->pages_before, "pagesAfter",
                         (json_int_t) record->pages_after, "durationUSec",
                         (json_int_t) record->usec, "errno", -record->error);
}
