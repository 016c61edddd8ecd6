/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/problem.h"

const char *problem_id(ProblemKind kind) {
#define PROBLEM_ID(name, id) id,
        static const char *const ids[] = {PROBLEMS(PROBLEM_ID)};

        return ids[kind];
}

void problem_add(Diags *problems, Severity severity, ProblemKind kind, const char *file,
                 const char *text, const char *remedy) {
        diags_add(problems, &(Diag){.severity = severity,
                                    .id = problem_id(kind),
                                    .file = file,
                                    .text = text,
                                    .remedy = remedy});
}
