/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Events for the journal, with fields that programs can search; plain lines elsewhere. */

#include "status/history.h"
#include "status/status.h"

/* ENTRY, with the message identifier of its kind. */
void journal_entry(const HistoryEntry *entry);

typedef struct Said {
        const char *instance;
        Verdict verdict;
        ReasonKind reason;
} Said;

/* What the journal has been told of instances and problems: each thing once, and again only after it had gone. */
typedef struct Told {
        Arena *arena; /* NULL: nothing has been said yet */
        VEC(Said) instances;
        SourceNames problems; /* as they were written */
} Told;

/* Tells what is new in STATUS: verdicts with their figures, problems with the file and line they are about. */
void told_log(Told *told, const Status *status);
