/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The ledger of promises: pages that are reserved and not yet touched, whose they are, and which
 * nodes can serve them.
 *
 * The kernel counts promises for the whole host (HugePages_Rsvd) and keeps its word as a sum only:
 *  - at mmap(2), hugetlb_acct_memory() asks that the host has so many unreserved pages, and, of a task
 *    bound by policy or cpuset, that its nodes have so many free ones (allowed_mems_nr()), whoever else
 *    they were promised to;
 *  - a write to one node's nr_hugepages is held back by the sum of the host, not by what that node's
 *    pages were promised for (set_max_huge_pages(), min_count);
 *  - at the fault, dequeue_hugetlb_folio_vma() takes a page from the nodes of the policy. A process
 *    without one takes from its own node first, so it may use up the node that a bound neighbour
 *    depends on. Who comes too late gets SIGBUS, not ENOMEM.
 *
 * So here is the one rule that holds it together, for any order in which pages are touched: of every
 * set of nodes that somebody is confined to, the free pages are at least as many as all who can take
 * any there may take. A pool is never lowered so far that this breaks, or breaks further where it is
 * broken already. That is more than that some order works out (which for sets of nodes is Hall's
 * condition: the free pages of a set are as many as the promises that only it can serve), and implies
 * it, since the set of every promise is among those that are looked at.
 *
 * What is known of nobody (HugePages_Rsvd less the known promises) may depend on any one node: when
 * pools are lowered it counts in full against each. */

#include "base/index.h"
#include "model/memory_policy.h"
#include "promise/ledger.h"

/* What one unit has of one page size. Arrays are by index of the node in the topology. */
typedef struct Promise {
        const char *unit; /* NULL: of nobody who is known */
        const char *
                mount_of; /* the instance whose mount has them, while no unit is known; else NULL */
        const char *loose; /* the instance, without a unit, that likely has them; else NULL */
        MemoryPolicy policy;
        uint64_t pages;        /* promised: mapped, or earmarked, and not touched yet */
        uint64_t likely_pages; /* likely promised, for nobody counts; among the unknown ones too */
        uint64_t owed_pages;   /* granted to a unit that runs, and not even mapped: it may yet be */
        /* The same at most: where nothing counts, the pages that several units lack may all be this one's. */
        uint64_t owed_most_pages;
        bool is_counted; /* by the hugetlb controller, from its start on */
        uint64_t *used;  /* in use; an estimate where nobody counts */
        uint64_t used_pages;
        uint64_t granted_pages;
} Promise;

typedef struct Promises {
        const Topology *topology;
        size_t size; /* index of the page size */
        VEC(Promise) list;
        uint64_t unknown_pages;         /* promised, and known of nobody */
        uint64_t others_promised_pages; /* of these, what is likely nobody's in the list */
        uint64_t *others_used;          /* in use by nobody in the list */
        uint64_t left_pages; /* promised to others: likely what ran for instances that are gone, or want others */
        Index *by_unit;     /* the rows of units */
        Index *by_instance; /* those of instances that no unit is known for, and of their mounts */
        Index *mounts;      /* what is known of those of this page size, by instance */
} Promises;

/* HOLDS: what the units that run were let start with, and, without a unit, what is reserved for
 * instances that have none. Of these nobody knows whether they run: pages that came into use where
 * theirs are, on top of what LEDGER says of others, are likely their own. USE may be NULL: nothing is
 * known of the units. Refers to its arguments. */
Promises promises_make(Arena *arena, const Topology *topology, size_t size,
                       const LedgerHolds *holds, const HostUse *use, const Ledger *ledger);

/* The unit's row; NULL where it has none. */
Promise *promises_find(const Promises *promises, const char *unit);

/* Pages that an instance without a unit likely uses, or was promised, already. */
uint64_t promises_loose_pages(const Promises *promises, const char *instance);

/* The same of all of them: which of them that is goes by name only. */
uint64_t promises_all_loose_pages(const Promises *promises);
