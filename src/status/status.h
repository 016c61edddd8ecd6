/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Status: what is configured, what exists, and the problems; the last value of the pipeline.
 *
 * It compares the plan with the kernel's counts after the plan was applied. The socket, --json and the tables all show
 * this one value. */

#include "base/diag.h"
#include "plan/attempt.h"
#include "plan/plan.h"
#include "status/page_users.h"

typedef enum Verdict {
        VERDICT_READY,    /* all its pages are available to it, or it runs with them */
        VERDICT_DEGRADED, /* has too few pages, and starts anyway (Shortage=degrade) */
        VERDICT_ASIDE,    /* hugeplan reserves nothing on this host; it starts unchecked */
        VERDICT_PENDING,  /* its pages are still being reserved */
        VERDICT_REFUSED,  /* has too few pages, and does not start */
        VERDICT_INVALID,  /* its file is broken */
        VERDICT_LOST,     /* was ready, and has lost pages since */
} Verdict;

typedef struct StatusPool {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t total_pages;
        uint64_t free_pages;
        uint64_t surplus_pages;
        uint64_t foreign_pages; /* in the pool, and not for instances */
        uint64_t owned_pages;   /* existing pages for instances */
        uint64_t cover_pages; /* beyond the plan, so that nobody takes what a bound unit has reserved */
} StatusPool;

/* Reserved pages, not touched yet: parts of the kernel's HugePages_Rsvd. */
typedef struct StatusReserved {
        const char *unit;     /* NULL: not known */
        const char *instance; /* whose mount has them, or which likely has them; else NULL */
        uint64_t page_size_bytes;
        uint64_t pages;
        IdSet nodes; /* the only ones that can serve them; empty: any */
        bool is_likely; /* estimated: no controller counts for the unit; of several units together if NULL */
} StatusReserved;

/* Pages that a running unit keeps until it stops. */
typedef struct StatusHold {
        const char *instance;
        const char *unit;
        uint64_t page_size_bytes;
        uint64_t pages;
        PagesByNode nodes;
} StatusHold;

typedef struct Proof Proof;

typedef struct StatusInstance {
        const char *name;
        const char *engine;
        const char *unit; /* NULL: none */
        const char *file;
        Verdict verdict;
        uint64_t page_size_bytes; /* 0: not known */
        uint64_t pages_wanted;
        uint64_t pages_granted;
        PagesByNode nodes;
        unsigned priority;
        Shortage shortage;
        bool is_running;    /* its unit has not stopped since its start, with or without its gate */
        bool was_let_start; /* its gate granted it pages at that start */
        bool is_counted;    /* the hugetlb controller has also counted for it since that start */
        /* The pages that its unit runs with, if they are others; those above apply from the next start on. */
        const StatusHold *until_restart;
        Reason reason;
        Lack lack;               /* of a start now, beside running and more important units */
        const char *fingerprint; /* of its configuration; NULL: not known */
        const Proof *proof;  /* whether it uses its pages (status/proof.h); NULL: not examined */
        const char *outcome; /* of that proof, for programs; else NULL */
} StatusInstance;

typedef struct Status {
        Verdict verdict;   /* the worst of its instances */
        const char *thp;   /* the kernel's setting; NULL: not supported */
        const char *phase; /* "idle", "reserving", "retrying", "no daemon", "aside", ... */
        const char *boot_id;
        const char *fingerprint; /* of the [Host] sections; NULL: not known */
        bool wants_round;        /* a round has to reserve the pending pages */
        StatusPool *pools;
        size_t n_pools;
        StatusInstance *instances;
        size_t n_instances;
        VEC(StatusReserved) reserved;
        Exposures covers;     /* which units the pools' cover protects, and from which */
        VEC(StatusHold) left; /* of units whose instances are no longer configured */
        Diags problems;
        Attempts attempts;           /* the latest ones on the pools, in order */
        const PageUsers *page_users; /* NULL: not read (the daemon's sandbox does not allow it) */
} Status;

typedef struct StatusInput {
        const Config *config;
        const Plan *plan;
        const Topology *topology;      /* read after the plan was applied */
        const HostUse *use;            /* likewise; NULL: not known */
        const Ledger *ledger;          /* matches both */
        const PlanStartings *starting; /* units that are starting; NULL: none */
        bool is_alone;                 /* see PlanInput */
        const char *phase;
        /* Missing pages may still come: verdicts are pending instead of refused. */
        bool is_working;
        const Attempts *attempts; /* NULL: not known */
} StatusInput;

/* Judges each instance. Copies the problems of the configuration, and adds one for each instance in trouble. */
Status *status_judge(Arena *arena, const StatusInput *input);

/* Who asks whether an instance may start now. */
typedef enum StartAsker {
        START_QUERY,   /* nobody starts, or the database starts again within its running unit */
        START_BY_UNIT, /* the unit starts, and needs the pages that were reserved for it */
        START_BY_ITSELF, /* the unit starts without a daemon: free pages will do, whoever reserved them */
} StartAsker;

/* The one judge of a start, for the daemon's gates and for a gate without a daemon. Sets the verdict of INSTANCE, which
 * is of a status, to that of a start now; its `lack` to what such a start lacks; and its reason to that of the lack.
 * LACK is what the asker of a START_QUERY lacks; NULL: nothing. */
void status_judge_start(Arena *arena, const PlanInstance *planned, StartAsker asker,
                        const Lack *lack, StatusInstance *instance);

/* Returns the host's verdict from the present instances and problems. */
Verdict status_worst_verdict(const Status *status);

/* Adds the one problem that hugeplan reserves nothing on this host, and why. */
void status_add_aside(const Reason *aside, Diags *problems);

/* Adds a problem: whose reserved pages may be taken, and by whom. */
void status_add_exposure(const Exposure *exposure, Diags *problems);

const StatusInstance *status_find(const Status *status, const char *instance);

/* Returns the instance with this Unit=; NULL if there is none, or UNIT is NULL. */
const StatusInstance *status_find_unit(const Status *status, const char *unit);

/* Returns the verdict that an instance has once the plan is wholly applied, and its status then. */
Verdict plan_verdict(const PlanInstance *planned);
StatusInstance status_planned(const PlanInstance *planned);

/* Returns "ready", "degraded", "aside", "pending", "refused", "invalid" or "lost". */
const char *verdict_name(Verdict verdict);
int verdict_from_name(const char *name, Verdict *ret);

/* Returns whether the database may start: ready or degraded. */
bool verdict_lets_start(Verdict verdict);
