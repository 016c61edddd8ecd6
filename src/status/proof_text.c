/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A proof as text: the second half of proof.h, which does not depend on the engines. */

#include "base/text.h"
#include "model/rule.h"
#include "status/proof.h"

static const uint64_t day_usec = 24 * 60 * 60 * USEC_PER_SEC;

/* Returns "fell back: 128 of 643 huge pages are mapped, and 1.1G of its memory is in small pages". */
static char *describe_fall(Arena *arena, const Proof *proof) {
        Text text = text_in(arena);

        text_printf(&text, "%s: %s%s%s huge pages are mapped", proof_word(arena, proof),
                    proof->is_mapped_known ? "" : "at least ",
                    format_count(arena, proof->mapped_pages),
                    proof->wanted_pages > 0 ? arena_printf(arena, " of %s",
                                                           format_count(arena, proof->wanted_pages))
                                            : "");
        if (proof->small_bytes > 0)
                text_printf(&text, ", and %s of its memory is in small pages",
                            format_size(arena, proof->small_bytes));
        return text.string;
}

void proof_add_problems(const Proof *proof, Severity severity, Diags *problems) {
        const char *name = proof->instance->name;
        bool is_unknown = proof->outcome == OUTCOME_UNKNOWN;

        if (proof->why)
                diags_report(problems,
                             (Diag){.severity = is_unknown ? SEVERITY_WARNING : severity,
                                    .id = is_unknown ? NULL : rules[RULE_FELL_BACK].id,
                                    .remedy = proof->remedy},
                             "%s %s: %s", name,
                             is_unknown ? "cannot be judged"
                                        : describe_fall(problems->arena, proof),
                             proof->why);
        VEC_FOREACH(deviation, &proof->deviations)
                diags_report(problems,
                             (Diag){.severity = SEVERITY_WARNING,
                                    .id = rules[RULE_OFF_PLAN].id,
                                    .remedy = deviation->remedy},
                             "%s: %s", name, deviation->text);
}

/* A name for programs and a word for people. */
static const struct {
        const char *name, *word;
} outcomes[] = {
        [OUTCOME_UNKNOWN] = {"unknown", "not known"},
        [OUTCOME_NOT_STARTED] = {"not-started", "not started"},
        [OUTCOME_STARTING] = {"starting", "starting"},
        [OUTCOME_IN_USE] = {"in-use", "in use"},
        [OUTCOME_IDLE] = {"idle", "idle"},
        [OUTCOME_FELL_BACK] = {"fell-back", "fell back"},
};

const char *outcome_name(Outcome outcome) {
        return outcomes[outcome].name;
}

const char *const fall_cause_names[] = {
        [FALL_SHORT] = "short", [FALL_LOST] = "lost", [FALL_OFF] = "off"};

char *proof_word(Arena *arena, const Proof *proof) {
        return proof->outcome == OUTCOME_IDLE
                       ? arena_printf(arena, "idle %s",
                                      proof_format_age(arena, proof->look->age_usec))
                       : arena_strdup(arena, outcomes[proof->outcome].word);
}

char *proof_format_age(Arena *arena, uint64_t age_usec) {
        uint64_t minutes = age_usec / (60 * USEC_PER_SEC);

        if (age_usec >= day_usec)
                return arena_printf(arena, "%" PRIu64 " d", age_usec / day_usec);
        if (minutes >= 60)
                return arena_printf(arena, "%" PRIu64 " h", minutes / 60);
        return minutes > 0 ? arena_printf(arena, "%" PRIu64 " min", minutes)
                           : arena_printf(arena, "%" PRIu64 " s", age_usec / USEC_PER_SEC);
}
