/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/outcome.h"

#include "base/text.h"
#include "daemon/journal.h"

/* What was said of an instance already is not said again, round after round. */
static bool was_said(const Outcome *outcome, const StatusInstance *instance) {
        VEC_FOREACH(said, &outcome->instances)
                if (text_equals(said->instance, instance->name))
                        return said->verdict == instance->verdict &&
                               said->reason == instance->reason.kind;
        return false;
}

/* Reasons stand with the verdicts; mistakes of the configuration are told when it is read. */
static bool is_told_elsewhere(const Diag *problem) {
        ReasonKind reason;

        return reason_from_id(problem->id, &reason) == 0 ||
               text_starts_with(problem->id, "config-");
}

/* Each once, and again only after it had gone. In ARENA: what stands now. */
static void log_problems(Outcome *outcome, Arena *arena, const Diags *problems) {
        typeof(outcome->problems) said = {};

        VEC_FOREACH(problem, &problems->list) {
                const char *text = diag_format(arena, problem);

                if (is_told_elsewhere(problem))
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

        for (size_t i = 0; i < status->n_instances; i++) {
                const StatusInstance *instance = &status->instances[i];

                if (!was_said(outcome, instance))
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
