/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Status: what was asked for, what is there, and what is wrong; the last value of the pipeline.
 *
 * Made by comparing the plan with the kernel's counts read after it was applied. It is served over
 * the socket, written by --json and drawn as tables, from this one value. */

#include "base/diag.h"
#include "escalation/attempt.h"
#include "plan/plan.h"
#include "status/page_users.h"

typedef enum Verdict {
        VERDICT_READY,    /* all its pages are available to it now, or it runs with them */
        VERDICT_DEGRADED, /* short, but told to start */
        VERDICT_PENDING,  /* being worked on */
        VERDICT_REFUSED,  /* short */
        VERDICT_INVALID,  /* its file is broken */
        VERDICT_LOST,     /* was ready; the pool no longer holds it */
} Verdict;

typedef struct StatusPool {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t total_pages;
        uint64_t free_pages;
        uint64_t surplus_pages;
        uint64_t foreign_pages; /* in the pool, but not for instances */
        uint64_t owned_pages;   /* for instances, and there */
        uint64_t cover_pages;   /* beyond the plan, so that nobody takes what another depends on */
} StatusPool;

/* Pages that are reserved and not touched yet; HugePages_Rsvd of the kernel, taken apart. */
typedef struct StatusReserved {
        const char *unit; /* NULL: of none that is known */
        const char *
                instance; /* whose mount has them, or which likely runs without a unit; else NULL */
        uint64_t page_size_bytes;
        uint64_t pages;
        IdSet nodes;    /* that alone can serve them; empty: any */
        bool is_likely; /* nobody counts for the unit */
} StatusReserved;

/* What a unit that runs keeps until it stops. */
typedef struct StatusHold {
        const char *instance;
        const char *unit;
        uint64_t page_size_bytes;
        uint64_t pages;
        NodePages *nodes;
        size_t n_nodes;
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
        NodePages *nodes;
        size_t n_nodes;
        unsigned priority;
        Shortage shortage;
        bool is_running;    /* its unit was let start, or runs without that, and has not stopped */
        bool was_let_start; /* its gate gave it pages at that start */
        bool is_counted;    /* and the hugetlb controller has counted for it since its start */
        /* It runs with other pages than these: it has these from its next start on. */
        const StatusHold *until_restart;
        Reason reason;
        Lack lack; /* that it would have if it started now, beside those who run and the more important ones */
        const char *fingerprint; /* of its configuration; NULL: not known */
        const Proof *proof; /* whether it uses its pages (status/proof.h); NULL: nobody has looked */
} StatusInstance;

typedef struct Status {
        Verdict verdict;   /* the worst of the instances' */
        const char *thp;   /* as the kernel has it; NULL: it has none */
        const char *phase; /* "idle", "reserving", "retrying", "no daemon", "switched off", ... */
        const char *boot_id;
        const char *fingerprint; /* of the [Host] sections; NULL: not known */
        bool wants_round; /* by a plan that was made from the counts that this was judged by */
        StatusPool *pools;
        size_t n_pools;
        StatusInstance *instances;
        size_t n_instances;
        VEC(StatusReserved) reserved;
        Exposures covers;     /* whom the cover of the pools protects from whom */
        VEC(StatusHold) left; /* by units of instances that are described no longer */
        Diags problems;
        Attempts attempts; /* what was done for the pools last, in this order */
        const PageUsers
                *page_users; /* NULL: nobody has looked (the daemon, in its sandbox, does not) */
} Status;

typedef struct StatusInput {
        const Config *config;
        const Plan *plan;
        const Topology *topology;      /* probed after applying */
        const HostUse *use;            /* likewise; NULL: nothing is known */
        const Ledger *ledger;          /* observed for both */
        const PlanStartings *starting; /* units that start at this moment; NULL: none */
        bool is_alone;                 /* as PlanInput has it */
        const char *phase;
        /* What is short may still come: its verdict is pending, not refused. */
        bool is_working;
        const Attempts *attempts; /* NULL: none are known */
} StatusInput;

/* PROBLEMS of the configuration are taken over, one for each instance in trouble is added. */
Status *status_judge(Arena *arena, const StatusInput *input);

/* That of the host, by its instances and problems as they are now. */
Verdict status_worst_verdict(const Status *status);

/* Adds whose pages may be taken by whom. */
void status_add_exposure(const Exposure *exposure, Diags *problems);

const StatusInstance *status_find(const Status *status, const char *instance);

/* The instance whose Unit= this is; NULL for none, and for a unit of NULL. */
const StatusInstance *status_find_unit(const Status *status, const char *unit);

/* What an instance's verdict will be once the plan is applied in full. */
Verdict plan_verdict(const PlanInstance *planned);

/* "ready", "degraded", "pending", "refused", "invalid", "lost". */
const char *verdict_name(Verdict verdict);
int verdict_from_name(const char *name, Verdict *ret);

/* True where a database may start: ready or degraded. */
bool verdict_lets_start(Verdict verdict);
