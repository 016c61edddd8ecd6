/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/rule.h"

#include "base/text.h"
#include "model/problem.h"
#include "model/reason.h"

#define RULE_ROW(name, id, severity, hurts) {id, SEVERITY_##severity, hurts},
const Rule rules[RULE_KINDS] = {RULES(RULE_ROW)};

static const Rule *find_rule(const char *id) {
        return ARRAY_FIND(rule, rules, RULE_KINDS, text_equals(rule->id, id));
}

/* Finds a problem that no rule reports and that may be silenced. */
static const Problem *find_problem(const char *id) {
        return ARRAY_FIND(problem, problem_kinds, PROBLEM_KINDS,
                          problem->weight != PROBLEM_ALWAYS && text_equals(problem->id, id));
}

bool rule_hurts(const Diag *problem) {
        const Rule *rule = find_rule(problem->id);
        const Problem *kind = find_problem(problem->id);
        ReasonKind reason;

        return problem->severity != SEVERITY_NOTICE &&
               (rule   ? rule->hurts
                : kind ? kind->weight == PROBLEM_HURTS
                       : reason_from_id(problem->id, &reason) == 0 && reason != REASON_CONFIG);
}

bool rule_may_be_silenced(const char *id) {
        return find_rule(id) || find_problem(id);
}

/* ---- near misses ---- */

const char *rule_nearest(const char *word) {
        NearMiss miss = {word, 3};

        ARRAY_FOREACH(rule, rules, RULE_KINDS)
                near_miss_try(&miss, rule->id);
        ARRAY_FOREACH(problem, problem_kinds, PROBLEM_KINDS)
                if (problem->weight != PROBLEM_ALWAYS)
                        near_miss_try(&miss, problem->id);
        return miss.name;
}
