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
 *  - that part stays: it goes to no newcomer that is no more important, and to nobody once the
 *    instance may be using it;
 *  - a pool is never lowered below what was found, nor below what is in use or promised; only where
 *    memory is short are found free pages split into the smaller ones that an instance needs. */

#include "demand/demand.h"
#include "promise/ledger.h"

/* What trying has shown: a pool that would not grow beyond this. */
typedef struct PoolLimit {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t persistent_pages;
        Reason reason;        /* why, from the evidence found then */
        bool is_unsplittable; /* instead of all this: the kernel would not split its pages */
} PoolLimit;

typedef VEC(PoolLimit) PoolLimits;

typedef struct PlanInput {
        const HostConfig *host;
        const Demand *demand;
        const Topology *topology;
        const Ledger *ledger;     /* observed for this topology */
        const PoolLimits *limits; /* NULL: none known */
} PlanInput;

typedef struct PlanInstance {
        const DemandInstance *demand;
        uint64_t page_size_bytes; /* 0: it reserves nothing, or nothing is known about it */
        uint64_t pages_wanted;
        uint64_t pages_granted;
        NodePages *grants; /* by node number; none with 0 pages */
        size_t n_grants;
        Reason reason;   /* REASON_NONE when it has all it wants */
        Reason no_fence; /* why it does not start though it has: Isolate=yes, which cannot be done */
} PlanInstance;

typedef struct PlanPool {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t found_pages;
        uint64_t foreign_pages;
        uint64_t granted_pages; /* to all instances */
        uint64_t from_pages;    /* persistent now */
        uint64_t split_pages;   /* found free pages to be split into smaller ones */
        uint64_t split_into_bytes;
        uint64_t gained_pages; /* pages that come from splitting larger ones */
        uint64_t to_pages;     /* persistent as planned */
} PlanPool;

typedef struct Plan {
        PlanInstance *instances; /* in the order of the demand: by name */
        size_t n_instances;
        PlanPool *pools; /* every pool of the host: largest page size first, then by node */
        size_t n_pools;
        uint64_t keep_free_bytes; /* over all nodes, for the record */
} Plan;

Plan *plan_make(Arena *arena, const PlanInput *input);

/* One thing to be done to a pool. A pool whose found pages are split and which grows all the same
 * has two steps, even where it ends with as many pages as it began. */
typedef struct PlanStep {
        const PlanPool *pool;
        uint64_t from_pages; /* persistent */
        uint64_t to_pages;
        uint64_t split_into_bytes; /* by splitting pages into ones of this size; 0: by its count */
} PlanStep;

typedef VEC(PlanStep) PlanSteps;

/* In the order in which they are to be done: what gives memory or pages before what takes them, and
 * the largest pages before smaller ones. */
PlanSteps plan_steps(Arena *arena, const Plan *plan);

const PlanInstance *plan_find(const Plan *plan, const char *instance);
const PlanPool *plan_pool(const Plan *plan, unsigned node, uint64_t page_size_bytes);

/* What new pages may take of a node as it is now: its free memory, with the page cache it can give
 * up where that is allowed, less KeepFree=. */
uint64_t plan_node_room_bytes(const HostConfig *host, const Node *node);

/* Why an instance is short, or else why it does not start; REASON_NONE: it starts with all it wants. */
const Reason *plan_reason(const PlanInstance *instance);

/* Whether an instance has less than it wants, and might have more another time. */
bool plan_is_short(const Plan *plan);

/* Page tables that one session needs to touch all of the instance's memory in 4 KiB pages: 8 bytes
 * for each, 1/512 of the segment. What huge pages save, per session, in the worst case. */
uint64_t plan_page_tables_bytes(const PlanInstance *instance);

/* How many pools have to be changed. */
size_t plan_count_changed(const Plan *plan);

/* Writes the plan's grants into the ledger; what was held stays held while its demand stays. */
void plan_record(Arena *arena, const Plan *plan, Ledger *ledger);

/* The order in which instances are served: priority downwards, then name. For qsort(3) over
 * pointers to InstanceConfig. */
int plan_compare_priority(const void *a, const void *b);
