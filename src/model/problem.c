/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/problem.h"

#define PROBLEM_ROW(name, id, severity, weight) {id, SEVERITY_##severity, PROBLEM_##weight},
const Problem problem_kinds[PROBLEM_KINDS] = {PROBLEMS(PROBLEM_ROW)};

const char *problem_id(ProblemKind kind) {
        return problem_kinds[kind].id;
}

Diag problem_of(ProblemKind kind, const char *file, const char *remedy) {
        return (Diag){.severity = problem_kinds[kind].severity,
                      .id = problem_kinds[kind].id,
                      .file = file,
                      .remedy = remedy};
}
