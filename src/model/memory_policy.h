/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The memory policy of a unit's processes: the nodes that can give them a page.
 *
 * The policy decides for pages that are reserved and not yet touched: the kernel counts them for the whole host
 * (HugePages_Rsvd), but only the nodes of the process's policy can serve them when they are touched. Sources:
 * Documentation/admin-guide/mm/numa_memory_policy.rst; mm/hugetlb.c dequeue_hugetlb_folio_vma(), mm/mempolicy.c
 * huge_node(). */

#include "base/id_set.h"

typedef enum MemoryPolicyKind {
        MEMORY_POLICY_UNKNOWN,    /* not known: any one node may be the only one */
        MEMORY_POLICY_ANY,        /* default, local, preferred: the nearest node first, then any */
        MEMORY_POLICY_BIND,       /* its nodes and no others; SIGBUS if they have no page */
        MEMORY_POLICY_INTERLEAVE, /* its nodes in turn; other nodes if one of them has no page left */
} MemoryPolicyKind;

typedef struct MemoryPolicy {
        MemoryPolicyKind kind;
        IdSet nodes; /* of BIND and INTERLEAVE; of UNKNOWN, to which it is likely bound, if any */
} MemoryPolicy;

/* Returns the nodes that alone can serve POLICY, as far as is known; NULL: any node can. */
static inline const IdSet *memory_policy_bound_to(const MemoryPolicy *policy) {
        return policy->kind == MEMORY_POLICY_BIND || (policy->kind == MEMORY_POLICY_UNKNOWN &&
                                                      !id_set_is_empty(&policy->nodes))
                       ? &policy->nodes
                       : NULL;
}
