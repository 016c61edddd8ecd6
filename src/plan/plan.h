/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The plan: which instance gets which pages of which node, and what has to be written for it.
 *
 * Pure and deterministic: the same demand, topology and ledger give the same plan, whatever the
 * order of files or nodes. Rules:
 *  - never beyond what a node can give: its free (and reclaimable) memory less KeepFree=, and the
 *    pages that are in its pool already;
 *  - instances that hold their pages keep them; then by priority, then by name;
 *  - an instance gets all it wants or nothing, so that what it cannot use whole goes to the next;
 *    only Shortage=degrade takes a part, and only what nobody else could use whole;
 *  - what stood stays, as far as nobody else needs it, until what the instance wants instead can be had;
 *  - that part stays: it goes to no newcomer that is no more important, and to nobody once the unit
 *    has mapped it (keeper/keeper_part.c); but where others take what KeepFree= leaves to a node, parts that
 *    no unit keeps are given back, those of the least important first;
 *  - a unit that runs keeps what it was let start with, whatever its instance wants now; the new
 *    demand is planned beside it, and on the same pages where it has them on that node already;
 *  - a pool is never lowered below what was found, nor so that a promise breaks (promise/promise.h); only
 *    where memory is short are existing free pages demoted into the smaller ones that an instance needs;
 *  - who is bound to nodes has his pages there in whatever order others touch theirs: where somebody
 *    may take some of them, the pool is made larger by as much, if there is free memory. */

#include "demand/demand.h"
#include "promise/admission.h"
#include "promise/ledger.h"

/* What trying has shown: a pool that would not grow beyond this. */
typedef struct PoolLimit {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t persistent_pages;
        Reason reason;      /* why, from the evidence found then */
        bool cannot_demote; /* instead of all this: the kernel would not demote its pages */
} PoolLimit;

typedef VEC(PoolLimit) PoolLimits;

/* An instance whose unit starts at this moment, under a policy that was asked for. */
typedef struct PlanStarting {
        const char *instance;
        const char *unit;
        const char *run; /* systemd's id of this start; "": not known */
        MemoryPolicy policy;
        bool is_refused; /* it ends: what is left of its processes maps nothing */
} PlanStarting;

typedef VEC(PlanStarting) PlanStartings;

typedef struct PlanInput {
        const HostConfig *host;
        const Demand *demand;
        const Topology *topology;
        const Ledger *ledger;          /* observed for this topology */
        const HostUse *use;            /* NULL: nothing is known of it */
        const PoolLimits *limits;      /* NULL: none known */
        const PlanStartings *starting; /* NULL: none */
        bool is_restarted;             /* as if every unit that runs had been stopped */
        bool is_alone; /* nobody reserves: who starts at this moment needs all that it wants, and comes first */
        /* There may be instances that are not known: no pool is lowered. */
        bool is_incomplete;
} PlanInput;

typedef struct PlanInstance {
        const DemandInstance *demand;
        uint64_t page_size_bytes; /* 0: it reserves nothing, or nothing is known about it */
        uint64_t pages_wanted;
        uint64_t pages_granted;
        NodePages *grants; /* by node number; none with 0 pages */
        size_t n_grants;
        Reason reason;           /* REASON_NONE when it has all it wants */
        Reason no_hugetlb_limit; /* why it does not start though it has: Isolate=yes, which cannot be done */
        Reason exposed;          /* likewise: others that run may take its pages before it does */
        uint64_t likely_pages; /* that it has likely already, without a unit */
        const LedgerHold *hold; /* what its unit, which runs, was let start with; NULL: it does not */
        /* Refused, it keeps of its pages what stood for what it wanted before; NULL: it does not. */
        const LedgerInstance *stood;
} PlanInstance;

typedef struct PlanPool {
        unsigned node;
        uint64_t page_size_bytes;
        size_t node_index, size_index; /* in the topology */
        const Pool *now;               /* as the kernel has it */
        uint64_t found_pages;
        uint64_t others_used_pages; /* in use by nobody whom the plan knows */
        uint64_t others_pages;      /* with what is promised to such */
        uint64_t granted_pages;     /* to all instances, and what units that run keep besides */
        uint64_t cover_pages;   /* beyond that, for as long as others may take what is granted */
        uint64_t spare_pages;   /* free now, and promised to nobody */
        uint64_t from_pages;    /* persistent now */
        uint64_t demoted_pages; /* existing free pages to be demoted into smaller ones */
        uint64_t demote_to_bytes;
        uint64_t gained_pages; /* pages that come from demoting larger ones */
        uint64_t to_pages;     /* persistent as planned */
} PlanPool;

typedef struct Plan {
        PlanInstance *instances; /* in the order of the demand: by name */
        size_t n_instances;
        PlanInstance **order; /* the same as they are served: by priority downwards, then by name */
        const Demand *demand;
        PlanPool *pools; /* every pool of the host: largest page size first, then by node */
        size_t n_pools;
        uint64_t keep_free_bytes; /* over all nodes, for the record */
        uint64_t auto_bytes;      /* what learned sizes may come to over all nodes, likewise */
        uint64_t base_page_bytes; /* the host's, likewise */
        /* Of instances that are described no longer, or by another unit: kept until the unit stops. */
        VEC(const LedgerHold *) left_holds;
        /* In use or reserved, likely by what ran for instances without a unit that are gone. */
        PageCounts left;
        Exposures exposures; /* of units that run, once this is applied */
        Exposures covers;    /* whom the cover protects from whom, once this is applied */
} Plan;

Plan *plan_make(Arena *arena, const PlanInput *input);

/* One thing to be done to a pool. A pool whose existing pages are demoted and which grows all the same
 * has two steps, even where it ends with as many pages as it began. */
typedef struct PlanStep {
        const PlanPool *pool;
        uint64_t from_pages; /* persistent */
        uint64_t to_pages;
        uint64_t demote_to_bytes; /* by demoting pages into ones of this size; 0: by its count */
} PlanStep;

typedef VEC(PlanStep) PlanSteps;

/* In the order in which they are to be done: what gives memory or pages before what takes them, and
 * the largest pages before smaller ones. */
PlanSteps plan_steps(Arena *arena, const Plan *plan);

/* What the unit of an instance runs with, by HOLDS as they are now; NULL: it does not run. By its name,
 * else by its unit: a file may have been renamed. */
const LedgerHold *plan_find_hold(const Plan *plan, const HoldIndex *holds,
                                 const InstanceConfig *config);

const PlanInstance *plan_find(const Plan *plan, const char *instance);
const PlanPool *plan_pool(const Plan *plan, unsigned node, uint64_t page_size_bytes);

/* What KeepFree= leaves to a node. */
uint64_t plan_node_keep_free_bytes(const HostConfig *host, const Node *node);

/* What new pages may take of a node as it is now: its free memory, with the page cache it can give
 * up where that is allowed, less KeepFree=. */
uint64_t plan_node_room_bytes(const HostConfig *host, const Node *node);

/* What it is short of KeepFree=: others have taken that since. */
uint64_t plan_node_shortage_bytes(const HostConfig *host, const Node *node);

/* Why an instance is short, or else why it does not start; REASON_NONE: it starts with all it wants. */
const Reason *plan_reason(const PlanInstance *instance);

/* With how many pages an instance is to start. */
static inline uint64_t plan_starter_pages(const PlanInput *input, const PlanInstance *instance) {
        return input->is_alone ? instance->pages_wanted : instance->pages_granted;
}

/* The instance as somebody who is to start. Refers to INSTANCE. */
Starter plan_starter(const PlanInput *input, const Promises *promises,
                     const PlanInstance *instance);

/* Who is to start with pages of one size, the most important ones first, and what each lacks beside those who run and
 * those before it. */
typedef struct PlanStarters {
        PlanInstance **instances;
        Starter *starters;
        Lack *lacks;
        size_t n;
} PlanStarters;

/* IS_RUNNING by index of the instance; FREE_PAGES by index of the node. */
PlanStarters plan_find_starters(Arena *arena, const PlanInput *input, const Plan *plan,
                                const bool *is_running, const Promises *promises,
                                const uint64_t *free_pages);

/* Whether the unit of an instance runs, by HOLD, with other pages than are planned: it has the new ones from its
 * next start on. */
bool plan_waits_for_restart(const PlanInstance *instance, const LedgerHold *hold);

/* Why an instance is not to start beside those that run: what it lacks, and who may take it. */
Reason plan_explain_lack(Arena *arena, const PlanInstance *instance, const Lack *lack);

/* By index of the instance: whether its unit runs, or has not quite ended. It was let start, by HOLDS (likewise; NULL:
 * those of PLAN); or it is there, and nobody let it start, nor is about to. */
bool *plan_find_running(Arena *arena, const PlanInput *input, const Plan *plan,
                        const LedgerHold *const *holds);

/* The promises of each page size (by its index in TOPOLOGY) as the plan sees them. */
Promises *plan_promises(Arena *arena, const PlanInput *input);

/* Whether an instance, or any of them, has less than it wants, and might have more another time. */
bool plan_instance_is_short(const PlanInstance *instance);
bool plan_is_short(const Plan *plan);

static inline uint64_t plan_wanted_bytes(const PlanInstance *instance) {
        return mul_saturated(instance->pages_wanted, instance->page_size_bytes);
}

/* How many pools have to be changed. */
size_t plan_count_changed(const Plan *plan);

/* Writes the plan's grants into the ledger, who has them where nothing is left to be written, and what others have. */
void plan_record(Arena *arena, const Plan *plan, Ledger *ledger);

/* Who is ready by a recorded plan, with nothing left to be written and no start decided by it: only that may be
 * lost later. */
void plan_note_ready(const Plan *plan, Ledger *ledger);
