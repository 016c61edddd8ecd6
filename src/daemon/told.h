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

typedef struct Told {
        Arena *arena; /* NULL: nothing has been said yet */
        VEC(Said) instances;
        SourceNames problems; /* as they were written */
} Told;

/* Logs what is new in STATUS. */
void told_log(Told *told, const Status *status);

void told_free(Told *told);
