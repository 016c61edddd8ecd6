/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/told.h"

#include "base/text.h"
#include "daemon/journal.h"

void told_log(Told *told, const Status *status) {
        Told now = {.arena = arena_new()};

        VEC_FOREACH(problem, &status->problems.list) {
                const char *text = diag_format(now.arena, problem);
                ReasonKind reason;

                /* Reasons stand with the verdicts; mistakes of the configuration are told when it is read. */
                if (reason_from_id(problem->id, &reason) == 0 ||
                    text_starts_with(problem->id, "config-"))
                        continue;
                if (!source_names_have(&told->problems, text))
                        journal_diag(problem);
                *vec_push(now.arena, &now.problems) = text;
        }
        ARRAY_FOREACH(instance, status->instances, status->n_instances) {
                if (!VEC_FIND(known, &told->instances,
                              text_equals(known->instance, instance->name) &&
                                      known->verdict == instance->verdict &&
                                      known->reason == instance->reason.kind))
                        journal_verdict(instance);
                *vec_push(now.arena, &now.instances) =
                        (Said){arena_strdup(now.arena, instance->name), instance->verdict,
                               instance->reason.kind};
        }
        arena_free(told->arena);
        *told = now;
}

void told_free(Told *told) {
        told->arena = arena_free(told->arena);
}
