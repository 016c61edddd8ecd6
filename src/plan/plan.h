/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The plan: which instance gets which pages of which node, and what has to be written for it.
 *
 * Pure and deterministic: the same demand, topology and ledger give the same plan, whatever the order of files or
 * nodes. Rules:
 *  - never beyond what a node can give: its free (and reclaimable) memory less KeepFree=, and the pages in its pool;
 *  - instances that hold their pages keep them; then by priority, then by name;
 *  - an instance gets all it wants or nothing, so that what it cannot use whole goes to the next; only Shortage=degrade
 *    takes a part, and only what no other instance could use whole;
 *  - an instance that was served and no longer is keeps its pages, if no other needs them, until it is served again;
 *  - a part stays: it goes to no newcomer that is no more important, and to none once the unit has mapped it
 *    (keeper/keeper_part.c); but if others take what KeepFree= leaves to a node, parts that no unit keeps are given
 *    back, the least important first;
 *  - a running unit keeps what it was started with, whatever its instance wants now; the new demand is planned beside
 *    it, and on the same pages if the unit has them on that node already;
 *  - a pool is never lowered below its existing pages, nor so that a promise breaks (plan/promise/promise.h); only if memory
 *    is short are existing free pages demoted into the smaller ones that an instance needs;
 *  - a bound unit finds its pages on its nodes in whatever order others touch theirs: if others may take some of
 *    them, the pool is made larger by as many, if there is free memory. */

#include "demand/demand.h"
#include "plan/ledger.h"
#include "plan/promise/admission.h"

/* A limit that an attempt has shown: the pool did not grow beyond it. */
typedef struct PoolLimit {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t persistent_pages;
        Reason reason;      /* the cause, by the evidence found then */
        bool cannot_demote; /* another limit: the kernel did not demote the pool's pages */
} PoolLimit;

typedef VEC(PoolLimit) PoolLimits;

/* An instance whose unit starts at this moment, under the policy of this start. */
typedef struct PlanStarting {
        const char *instance;
        const char *unit;
        const char *run; /* systemd's id of this start; "": not known */
        MemoryPolicy policy;
        bool is_refused; /* the start is refused: its remaining processes map nothing */
} PlanStarting;

typedef VEC(PlanStarting) PlanStartings;

typedef struct PlanInput {
        const HostConfig *host;
        const Demand *demand;
        const Topology *topology;
        const Ledger *ledger;          /* observed for this topology */
        const HostUse *use;            /* NULL: not known */
        const PoolLimits *limits;      /* NULL: none known */
        const PlanStartings *starting; /* NULL: none */
        bool is_restarted;             /* plans as if all running units had been stopped */
        bool is_alone; /* no daemon reserves: a unit that starts now comes first, with all it wants */
        /* Some instances may be unknown: no pool is lowered. */
        bool is_incomplete;
} PlanInput;

typedef struct PlanInstance {
        const DemandInstance *demand;
        uint64_t page_size_bytes; /* 0: it reserves nothing, or its demand is not known */
        uint64_t pages_wanted;
        uint64_t pages_granted;
        PagesByNode grants;      /* none with 0 pages */
        Reason reason;           /* REASON_NONE: it has all it wants */
        Reason no_hugetlb_limit; /* why it does not start all the same: Isolate=yes is impossible */
        Reason exposed;          /* likewise: running units may take its pages first */
        const LedgerHold *hold;  /* what its running unit was started with; NULL: it does not run */
        /* The earlier grant of which it keeps pages though it is refused; NULL: none. */
        const LedgerInstance *kept_grant;
} PlanInstance;

typedef struct PlanPool {
        unsigned node;
        uint64_t page_size_bytes;
        size_t node_index, size_index; /* in the topology */
        const Pool *now;               /* as read from the kernel */
        uint64_t found_pages;
        uint64_t added_pages;     /* of these, added by others since hugeplan was there */
        uint64_t uncounted_pages; /* in use by processes of no known unit or instance */
        uint64_t others_pages; /* these, what is left behind in units, and pages promised to others */
        uint64_t granted_pages; /* to all instances, and kept by running units besides */
        uint64_t cover_pages;   /* beyond granted_pages, as long as others may take some of these */
        uint64_t spare_pages;   /* free now, and not promised */
        uint64_t from_pages;    /* persistent now */
        uint64_t demoted_pages; /* existing free pages to be demoted into smaller ones */
        uint64_t demote_to_bytes;
        uint64_t gained_pages; /* gained by demoting larger pages */
        uint64_t to_pages;     /* persistent as planned */
} PlanPool;

typedef struct Plan {
        PlanInstance *instances; /* in the order of the demand: by name */
        size_t n_instances;
        PlanInstance **order; /* the same as served: by priority downwards, then by name */
        const Demand *demand;
        PlanPool *pools; /* every pool of the host: largest page size first, then by node */
        size_t n_pools;
        uint64_t keep_free_bytes; /* over all nodes, for the record */
        uint64_t auto_bytes;      /* what learned sizes may have over all nodes, likewise */
        uint64_t base_page_bytes; /* the host's, likewise */
        /* In use or reserved, likely by processes of instances without a unit that were removed. */
        PageCounts left;
        Exposures exposures; /* of running units, once the plan is applied */
        Exposures covers;    /* whom the cover protects from which unit, likewise */
} Plan;

Plan *plan_make(Arena *arena, const PlanInput *input);

/* One change of a pool. A pool whose existing pages are demoted and that grows all the same has two steps, even if it
 * ends with as many pages as before. */
typedef struct PlanStep {
        const PlanPool *pool;
        uint64_t from_pages; /* persistent */
        uint64_t to_pages;
        uint64_t demote_to_bytes; /* demotes pages into this size; 0: sets the pool's count */
} PlanStep;

typedef VEC(PlanStep) PlanSteps;

/* Returns the steps in order: those that give memory or pages before those that take them, larger pages before smaller
 * ones. */
PlanSteps plan_steps(Arena *arena, const Plan *plan);

/* Returns what an instance's unit runs with, by the present HOLDS; NULL if it does not run. The instance is found by
 * its name, else by its unit: its file may have been renamed. */
const LedgerHold *plan_find_hold(const Plan *plan, const HoldIndex *holds,
                                 const InstanceConfig *config);

const PlanInstance *plan_find(const Plan *plan, const char *instance);
const PlanPool *plan_pool(const Plan *plan, unsigned node, uint64_t page_size_bytes);

/* Returns what KeepFree= leaves to a node. */
uint64_t plan_node_keep_free_bytes(const HostConfig *host, const Node *node);

/* Returns what new pages may take of a node as it is now: its free memory, with the page cache it can give up if that
 * is allowed, less KeepFree=. */
uint64_t plan_node_room_bytes(const HostConfig *host, const Node *node);

/* Returns the memory that new huge pages may take from all nodes together, so that programs can still allocate some; see
 * CommitLimit. UINT64_MAX: there is no limit. */
uint64_t plan_commit_room_bytes(const Topology *topology);

/* Returns what the node lacks of KeepFree=, because others have taken it since. */
uint64_t plan_node_shortage_bytes(const HostConfig *host, const Node *node);

/* Returns why an instance is short, or else why it does not start; REASON_NONE: it starts with all it wants. */
const Reason *plan_reason(const PlanInstance *instance);

/* Returns with how many pages an instance is to start. */
static inline uint64_t plan_starter_pages(const PlanInput *input, const PlanInstance *instance) {
        return input->is_alone ? instance->pages_wanted : instance->pages_granted;
}

/* Returns INSTANCE as a starter, which refers to it. */
Starter plan_starter(const PlanInput *input, const Promises *promises,
                     const PlanInstance *instance);

/* The instances that are to start with pages of one size, the most important ones first, and what each lacks beside
 * running units and the starters before it. */
typedef struct PlanStarters {
        PlanInstance **instances;
        Starter *starters;
        Lack *lacks;
        size_t n;
} PlanStarters;

/* IS_RUNNING is by index of the instance, FREE_PAGES by index of the node. */
PlanStarters plan_find_starters(Arena *arena, const PlanInput *input, const Plan *plan,
                                const bool *is_running, const Promises *promises,
                                const uint64_t *free_pages);

/* Returns whether an instance's unit runs, by HOLD, with other pages than are planned: it gets the new ones at its next
 * start. */
bool plan_waits_for_restart(const PlanInstance *instance, const LedgerHold *hold);

/* Returns why an instance is not to start beside running units: what it lacks, and which unit may take it. */
Reason plan_explain_lack(Arena *arena, const PlanInstance *instance, const Lack *lack);

/* Returns, by index of the instance, whether its unit runs or is stopping: it was admitted, by HOLDS (by the same
 * index; NULL: those of PLAN), or runs without having been admitted, and is not being admitted now. */
bool *plan_find_running(Arena *arena, const PlanInput *input, const Plan *plan,
                        const LedgerHold *const *holds);

/* Returns the promises of each page size (by its index in TOPOLOGY) as the plan sees them. */
Promises *plan_promises(Arena *arena, const PlanInput *input);

/* Return whether an instance, or any instance, has less than it wants and may have more another time. */
bool plan_instance_is_short(const PlanInstance *instance);
bool plan_is_short(const Plan *plan);

static inline uint64_t plan_wanted_bytes(const PlanInstance *instance) {
        return mul_saturated(instance->pages_wanted, instance->page_size_bytes);
}

/* Returns how many pools have to be changed. */
size_t plan_count_changed(const Plan *plan);

/* Records in LEDGER the grants, which instances have theirs (if no pool is left to change), and others' pages. */
void plan_record(Arena *arena, const Plan *plan, Ledger *ledger);

/* Records which instances are ready by a recorded PLAN, if no pool is left to change and it decides no start: only such
 * readiness can be lost later. */
void plan_note_ready(const Plan *plan, Ledger *ledger);
