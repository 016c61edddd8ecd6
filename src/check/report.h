/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Report: the huge pages of a host before and after hugeplan, for a change ticket or an administrator on call. It
 * combines `status`, `verify`, `check` and the journal. Pure, and nothing is guessed: what is not known is left out,
 * with the reason in LEFT_OUT. */

#include "check/import.h"
#include "check/rules.h"
#include "plan/ledger.h"
#include "status/history.h"
#include "status/waste.h"

typedef struct ReportInput {
        const char *host; /* the host's name; NULL: not known */
        const char *when; /* as text; NULL: not known */
        const Status *status;
        const Proofs *proofs;
        const Findings *findings; /* those of `check` */
        /* From the files, which may be newer than STATUS. */
        const Config *config;
        const Plan *plan;
        const Figures *figures;
        const Topology *topology;
        const Ledger *ledger;  /* has the pages that existed before hugeplan */
        const char *no_before; /* why LEDGER has none of them; NULL: it has */
        const HistoryEntries *history;
        const FirstLook *first_look; /* NULL: instances are described */
        uint64_t tables_bytes;       /* page tables of the whole host; 0: not known */
} ReportInput;

typedef enum ReportVerdict {
        REPORT_NOT_PLANNED, /* no instance is described */
        REPORT_AS_PLANNED,
        REPORT_ATTENTION, /* it works, but something needs attention */
        REPORT_NOT_AS_PLANNED,
} ReportVerdict;

typedef struct ReportFinding {
        Diag diag;
        bool hurts; /* at the next start of a database, or of the host */
} ReportFinding;

typedef struct Report {
        const ReportInput *input;
        ReportVerdict verdict;
        const char *sentence;        /* explains the verdict */
        VEC(ReportFinding) findings; /* errors first, each finding once */
        uint64_t wasted_bytes;
        VEC(const char *) left_out; /* sentences */
} Report;

/* Returns a report in ARENA, which refers to INPUT. */
Report *report_make(Arena *arena, const ReportInput *input);
