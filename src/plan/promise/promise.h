/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The ledger of promises: pages that are reserved and not yet touched, their owners, and the nodes that can serve them.
 *
 * The kernel counts promises for the whole host (HugePages_Rsvd) and keeps them as a sum only:
 *  - at mmap(2), hugetlb_acct_memory() requires that the host has that many unreserved pages and, for a task bound by
 *    policy or cpuset, that its nodes have that many free ones (allowed_mems_nr()), whoever else they are promised to;
 *  - a write to one node's nr_hugepages is limited by the sum of the host, not by what that node's pages are promised
 *    for (set_max_huge_pages(), min_count);
 *  - at the fault, dequeue_hugetlb_folio_vma() takes a page from the nodes of the policy. A process without a policy
 *    takes from its own node first, so it may use up the node that a bound neighbour depends on. The process that comes
 *    too late gets SIGBUS, not ENOMEM.
 *
 * One rule keeps promises for any order in which pages are touched: every set of nodes that a unit is confined to has
 * at least as many free pages as all units that can take pages there may take. A pool is never lowered so far that this
 * breaks, or breaks further if it is broken already. It implies that some order works out (Hall's condition).
 *
 * Promises without a known owner (HugePages_Rsvd less the known promises) may depend on any one node: when pools are
 * lowered they count in full against each. */

#include "base/index.h"
#include "model/memory_policy.h"
#include "plan/ledger.h"

/* The pages of one size of one unit. Arrays are by index of the node in the topology. */
typedef struct Promise {
        const char *unit;     /* NULL: not known */
        const char *mount_of; /* instance whose mount has them, if no unit is known; or NULL */
        const char *unitless; /* instance without a unit that likely has them; or NULL */
        MemoryPolicy policy;
        uint64_t pages;        /* promised: mapped or earmarked, and not touched yet */
        uint64_t likely_pages; /* likely promised, as nothing counts; also among the unknown ones */
        uint64_t owed_pages;   /* granted to a running unit, and not mapped yet */
        /* At most owed: if nothing counts, the pages that several units lack may all be this unit's. */
        uint64_t owed_most_pages;
        bool is_counted; /* by the hugetlb controller, since the unit's start */
        uint64_t *used;  /* in use; an estimate if not counted */
        uint64_t used_pages;
        uint64_t granted_pages;
} Promise;

typedef struct Promises {
        const Topology *topology;
        size_t size; /* index of the page size */
        VEC(Promise) list;
        uint64_t unknown_pages;         /* promised, without a known owner */
        uint64_t others_promised_pages; /* of these, likely of no one in the list */
        uint64_t *others_used;          /* in use by no one in the list */
        uint64_t *uncounted_used;       /* of these, in use by processes that nothing counts */
        uint64_t left_pages; /* promised to others: likely of instances removed or changed */
        /* Likely used by, or promised to, instances without a unit: which has them is decided by name only. */
        uint64_t all_unitless_pages;
        Index *by_unit;     /* the rows of units */
        Index *by_instance; /* rows of instances without a known unit, and of their mounts */
        Index *mounts;      /* mounts of this page size, by instance */
} Promises;

/* HOLDS: what running units were started with and, without a unit, what is reserved for instances that have none.
 * Whether the latter run is not known: pages that came into use on their nodes, beyond what LEDGER records of
 * others, are likely theirs. USE may be NULL: nothing is known of the units. The result refers to the arguments. */
Promises promises_make(Arena *arena, const Topology *topology, size_t size,
                       const LedgerHolds *holds, const HostUse *use, const Ledger *ledger);

/* Returns POLICY within the cpuset of UNIT (NULL: not known). */
MemoryPolicy promise_policy_within(const Topology *topology, const MemoryPolicy *policy,
                                   const UnitUse *unit);

/* Returns the unit's row; NULL if it has none. */
Promise *promises_find(const Promises *promises, const char *unit);
