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

typedef enum ReportVerdict {
        REPORT_NOT_PLANNED, /* no instance is described */
        REPORT_AS_PLANNED,
        REPORT_ATTENTION, /* it works, but something needs attention */
        REPORT_NOT_AS_PLANNED,
} ReportVerdict;

typedef struct Report {
        const char *host; /* the host's name; NULL: not known */
        const char *when; /* as text; NULL: not known */
        const Status *status;
        Proofs proofs;
        Findings checked; /* the findings of `check` */
        /* Of the files, which may be newer than STATUS; has suggestions if no instance is described. */
        HostView view;
        /* What report_judge() makes of these: */
        ReportVerdict verdict;
        const char *sentence; /* explains the verdict */
        FindingList findings; /* errors first, each finding once */
        uint64_t wasted_bytes;
        VEC(const char *) left_out; /* sentences */
} Report;

void report_judge(Arena *arena, Report *report);
