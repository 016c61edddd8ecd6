/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Report: how a host stands with its huge pages, before and after, for a change ticket and for whoever is woken at
 * night. What `status`, `verify`, `check` and `log` say, taken together; pure, and nothing in it is guessed: what is
 * not known is left out, with the reason in LEFT_OUT.
 *
 * "Before" is what the ledger has as existing: in the pools when hugeplan first looked in this boot, or added by
 * others since; "after" is now. */

#include "check/first_look.h"
#include "check/rules.h"
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
        const Ledger *ledger;
        const char *no_before;         /* why LEDGER does not tell; NULL: it does */
        const HistoryEntries *history; /* of this boot, the oldest first */
        const char *no_history;        /* why there is none; NULL: there is */
        const FirstLook *first_look;   /* NULL: something is described */
        uint64_t tables_bytes;         /* page tables of the whole host; 0: not known */
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

typedef struct ReportPool {
        const StatusPool *now;
        HistoryNumber before_pages;
} ReportPool;

/* All pools of a node together. */
typedef struct ReportNode {
        unsigned id;
        uint64_t memory_bytes; /* 0: not known */
        uint64_t before_bytes;
        uint64_t instances_bytes, others_bytes; /* now, for whom: a cover is for instances */
        uint64_t used_bytes;                    /* of both */
} ReportNode;

typedef struct ReportInstance {
        const StatusInstance *status;
        const InstanceConfig *config; /* NULL: the files do not describe it any more */
        const Proof *proof;           /* NULL: it reserves nothing */
        const Sizing *sizing;         /* how its size came about; NULL: that is not known */
        const Setting *setting; /* of the database, that its size rests on most; NULL likewise */
        bool is_fine;
} ReportInstance;

/* Page tables of the databases that run, where they are known. */
typedef struct ReportTables {
        size_t n;             /* databases */
        uint64_t bytes;       /* now */
        uint64_t small_bytes; /* at most, with small pages; 0: not known */
        uint64_t worst_bytes; /* likewise, with as many sessions as they allow */
        uint64_t saved_bytes; /* by those that use huge pages: at most */
} ReportTables;

typedef struct Report {
        const ReportInput *input;
        ReportVerdict verdict;
        const char *sentence;        /* the verdict's */
        VEC(ReportFinding) findings; /* errors first; each once */
        VEC(ReportPool) pools;       /* of the sizes that any node has pages of, or had */
        VEC(ReportNode) nodes;       /* that have memory */
        uint64_t memory_bytes, before_bytes, now_bytes, used_bytes; /* over all nodes */
        VEC(ReportInstance) instances; /* those first that are not fine; then by name */
        ReportTables tables;
        uint64_t wasted_bytes;
        VEC(const char *) left_out; /* sentences */
} Report;

/* In ARENA; refers to INPUT, which must outlive it. */
Report *report_make(Arena *arena, const ReportInput *input);

/* "orders", "orders, sales", "a, b, c and 7 more". */
char *report_names(Arena *arena, const SourceNames *names);

/* Of report.c, for report_verdict.c and back: */
void report_add_findings(Arena *arena, Report *report);
void report_judge(Arena *arena, Report *report);
