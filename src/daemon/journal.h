/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Writes events to the journal, with fields that programs can search, or as plain lines to standard error. */

#include "status/history.h"
#include "status/status.h"

/* Writes what the keeper reports (KeeperListener). */
void journal_listen(void *userdata, const HistoryEntry *entry);

typedef struct Said {
        const char *instance;
        Verdict verdict;
        ReasonKind reason;
} Said;

/* Instances and problems that have been logged: each is logged once, and again only after it had disappeared. */
typedef struct Logged {
        Arena *arena; /* NULL: nothing was logged yet */
        VEC(Said) instances;
        SourceNames problems; /* as they were written */
} Logged;

/* Logs verdicts and problems that are new in STATUS, unless a round is about to change it. */
void logged_update(Logged *logged, const Status *status);
