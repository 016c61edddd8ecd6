/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Status: what was asked for, what is there, and what is wrong; the last value of the pipeline.
 *
 * Made by comparing the plan with the kernel's counts read after it was applied. It is served over
 * the socket, written by --json and drawn as tables, from this one value. */

#include "base/diag.h"
#include "plan/effort.h"
#include "plan/plan.h"
#include "status/holders.h"

typedef enum Verdict {
        VERDICT_READY,    /* all its pages stand */
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
        uint64_t promised_pages;
        uint64_t surplus_pages;
        uint64_t foreign_pages; /* in the pool, but not for instances */
        uint64_t owned_pages;   /* for instances, and there */
} StatusPool;

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
        Reason reason;
        const char *fingerprint; /* of its configuration; NULL: not known */
} StatusInstance;

typedef struct Status {
        Verdict verdict;   /* the worst of the instances' */
        const char *thp;   /* as the kernel has it; NULL: it has none */
        const char *phase; /* "idle", "reserving", "retrying", "off", "offline" (no daemon) */
        const char *boot_id;
        const char *fingerprint; /* of the [Host] sections; NULL: not known */
        StatusPool *pools;
        size_t n_pools;
        StatusInstance *instances;
        size_t n_instances;
        Diags problems;
        Efforts efforts;        /* what was done for the pools last, in this order */
        const Holders *holders; /* NULL: nobody has looked (the daemon, in its sandbox, does not) */
} Status;

typedef struct StatusInput {
        const Config *config;
        const Plan *plan;
        const Topology *topology; /* probed after applying */
        const Ledger *ledger;
        const char *phase;
        /* What is short may still come: its verdict is pending, not refused. */
        bool is_working;
        const Efforts *efforts; /* NULL: none are known */
} StatusInput;

/* PROBLEMS of the configuration are taken over, one for each instance in trouble is added. */
Status *status_judge(Arena *arena, const StatusInput *input);

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

/* What an instance's own hugetlbfs mount (Mount=) keeps from others, and so has for the instance. */
typedef struct MountUse {
        uint64_t page_size_bytes; /* 0: there is no such mount */
        uint64_t earmarked_pages; /* min_size= */
        uint64_t used_pages;      /* by files in it; for certain, there may be more */
} MountUse;

/* The host without what is promised to that mount for want of files in it. Refers to TOPOLOGY. */
Topology status_without_mount(Arena *arena, const Topology *topology, const MountUse *mount);

/* Pages that others keep from an instance which is about to start, so that its own have to be
 * free: 0 when they are. Those in its mount, earmarked or in files that it left there, are its own.
 * Looks at the nodes the instance can use: those of Placement=bind, or all. */
uint64_t status_missing_for_start(const Topology *topology, const PlanInstance *instance,
                                  const MountUse *mount);
