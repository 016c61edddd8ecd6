/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/outcome.h"

#include "base/text.h"
#include "daemon/journal.h"

/* Each once, and again only after it had gone. In ARENA: what stands now. */
static void log_problems(Outcome *outcome, Arena *arena, const Diags *problems) {
        typeof(outcome->problems) said = {};

        VEC_FOREACH(problem, &problems->list) {
                const char *text = diag_format(arena, problem);
                ReasonKind reason;

                /* Reasons stand with the verdicts; mistakes of the configuration are told when it is read. */
                if (reason_from_id(problem->id, &reason) == 0 ||
                    text_starts_with(problem->id, "config-"))
                        continue;
                if (!source_names_have(&outcome->problems, text))
                        journal_diag(problem);
                *vec_push(arena, &said) = text;
        }
        outcome->problems = said;
}

void outcome_log(Outcome *outcome, const Status *status) {
        Arena *arena = arena_new();
        typeof(outcome->instances) said = {};

        log_problems(outcome, arena, &status->problems);

        ARRAY_FOREACH(instance, status->instances, status->n_instances) {
                /* What was said of it already is not said again, round after round. */
                if (!VEC_FIND(known, &outcome->instances,
                              text_equals(known->instance, instance->name) &&
                                      known->verdict == instance->verdict &&
                                      known->reason == instance->reason.kind))
                        journal_verdict(instance);
                *vec_push(arena, &said) = (Said){arena_strdup(arena, instance->name),
                                                 instance->verdict, instance->reason.kind};
        }
        arena_free(outcome->arena);
        outcome->arena = arena;
        outcome->instances = said;
}

void outcome_free(Outcome *outcome) {
        outcome->arena = arena_free(outcome->arena);
}
