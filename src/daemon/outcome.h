/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the log has been told of instances and problems: each thing once, and again only after it had
 * gone. */

#include "read/source.h"
#include "status/status.h"

typedef struct Said {
        const char *instance;
        Verdict verdict;
        ReasonKind reason;
} Said;

typedef struct Outcome {
        Arena *arena; /* NULL: nothing has been said yet */
        VEC(Said) instances;
        SourceNames problems; /* as they were written */
} Outcome;

/* Logs what is new in STATUS. */
void outcome_log(Outcome *outcome, const Status *status);

void outcome_free(Outcome *outcome);
