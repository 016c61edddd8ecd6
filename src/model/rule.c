/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/rule.h"

#include "base/text.h"
#include "model/problem.h"
#include "model/reason.h"

#include <string.h>

#define RULE_ROW(name, id, severity, hurts, title) {id, SEVERITY_##severity, hurts, title},
const Rule rules[RULE_KINDS] = {RULES(RULE_ROW)};

/* What is found by others than the rules, and may be silenced as well. */
static const struct {
        ProblemKind kind;
        bool hurts;
} others[] = {
        {PROBLEM_DATABASE_FILES, false},
        {PROBLEM_RELOAD_PENDING, false},
        {PROBLEM_NO_UNIT, false},
        {PROBLEM_DROPIN_MISSING, true},
        {PROBLEM_GATE_MISSING, true},
        {PROBLEM_GATE_MASKED, false},
        {PROBLEM_UNIT_NOT_LOADED, true},
        {PROBLEM_UNIT_WRONG, true},
        {PROBLEM_UNIT_SHARED, false},
        {PROBLEM_THP_CONFLICT, false},
        {PROBLEM_SHM_GROUP_MISSING, true},
        {PROBLEM_SHM_GROUP_REPLACED, true},
        {PROBLEM_MOUNT_TAKEN, true},
        {PROBLEM_MOUNT_OUTDATED, true},
        {PROBLEM_CONFLICT_COMMAND_LINE, true},
        {PROBLEM_CONFLICT_SYSCTL, true},
        {PROBLEM_CONFLICT_TMPFILES, true},
        {PROBLEM_CONFLICT_TUNED, true},
        {PROBLEM_CMDLINE_TYPO, true},
        {PROBLEM_CMDLINE_BAD_VALUE, true},
        {PROBLEM_CMDLINE_ORDER, true},
        {PROBLEM_CMDLINE_DUPLICATE, true},
        {PROBLEM_CMDLINE_NO_SUCH_SIZE, true},
        {PROBLEM_CMDLINE_INVALID_NODE, true},
        {PROBLEM_CMDLINE_NUMA_OFF, true},
        {PROBLEM_CMDLINE_CMA, true},
        {PROBLEM_CMDLINE_SPREAD, false},
        {PROBLEM_CMDLINE_SHORT, true},
        {PROBLEM_CMDLINE_RUN_TIME, true},
        {PROBLEM_CMDLINE_BEYOND_PLAN, false},
        {PROBLEM_EXISTING_PAGES_KEPT, false},
};

enum { N_IDS = RULE_KINDS + ARRAY_LEN(others) };

static const char *id_at(size_t i) {
        return i < RULE_KINDS ? rules[i].id : problem_id(others[i - RULE_KINDS].kind);
}

/* N_IDS where it is none. */
static size_t find(const char *id) {
        size_t i = 0;

        while (i < N_IDS && !text_equals(id, id_at(i)))
                i++;
        return i;
}

bool rule_hurts(const char *id) {
        size_t i = find(id);
        ReasonKind reason;

        if (i < N_IDS)
                return i < RULE_KINDS ? rules[i].hurts : others[i - RULE_KINDS].hurts;
        return reason_from_id(id, &reason) == 0 && reason != REASON_CONFIG;
}

bool rule_may_be_silenced(const char *id) {
        return find(id) < N_IDS;
}

/* ---- near misses ---- */

const char *rule_nearest(const char *word) {
        NearMiss miss = {word, 3};

        for (size_t i = 0; i < N_IDS; i++)
                near_miss_try(&miss, id_at(i));
        return miss.name;
}

char *rule_documentation(Arena *arena, const char *id) {
        ReasonKind reason;

        if (find(id) < RULE_KINDS)
                return arena_printf(arena, "hugeplan-rules(7), %s", id);
        return arena_printf(arena, "hugeplanctl(1), %s",
                            reason_from_id(id, &reason) == 0 ? "REASONS" : "PROBLEMS");
}
