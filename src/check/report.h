/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Report: how a host stands with its huge pages, before and after, for a change ticket and for whoever is woken at
 * night. What `status`, `verify` and `check` say and what the journal has, taken together; pure, and nothing in it is
 * guessed: what is not known is left out, with the reason in LEFT_OUT. */

#include "check/rules.h"
#include "check/suggest.h"
#include "promise/ledger.h"
#include "status/history.h"
#include "status/waste.h"

typedef struct ReportInput {
        const char *host; /* its name; NULL: not known */
        const char *when; /* as people write it; NULL: not known */
        const Status *status;
        const Proofs *proofs;
        const Findings *findings; /* of `check` */
        /* What the files say; they may be newer than STATUS. */
        const Config *config;
        const Plan *plan;
        const Figures *figures;
        const Topology *topology;
        const Ledger *ledger;  /* what the pools had before: what it calls existing */
        const char *no_before; /* why LEDGER does not tell; NULL: it does */
        const HistoryEntries *history;
        const FirstLook *first_look; /* NULL: something is described */
        uint64_t tables_bytes;       /* page tables of the whole host; 0: not known */
} ReportInput;

typedef enum ReportVerdict {
        REPORT_NOT_PLANNED, /* nothing is described */
        REPORT_AS_PLANNED,
        REPORT_ATTENTION, /* it works, and something should be looked at */
        REPORT_NOT_AS_PLANNED,
} ReportVerdict;

typedef struct ReportFinding {
        Diag diag;
        bool hurts; /* at the next start of a database, or of the host */
} ReportFinding;

typedef struct Report {
        const ReportInput *input;
        ReportVerdict verdict;
        const char *sentence;        /* the verdict's */
        VEC(ReportFinding) findings; /* errors first; each once */
        uint64_t wasted_bytes;
        VEC(const char *) left_out; /* sentences */
} Report;

/* In ARENA; refers to INPUT, which must outlive it. */
Report *report_make(Arena *arena, const ReportInput *input);
