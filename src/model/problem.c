/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/problem.h"

const char *problem_id(ProblemKind kind) {
#define PROBLEM_ID(name, id) id,
        static const char *const ids[] = {PROBLEMS(PROBLEM_ID)};

        return ids[kind];
}
