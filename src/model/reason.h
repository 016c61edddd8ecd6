/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reasons: why an instance does not have its pages, with the evidence in words and what to do. */

#include "base/arena.h"

#define REASONS(X)                                                                                 \
        X(NONE, "none")                                                                            \
        X(CONFIG, "config")             /* its file is refused */                                  \
        X(NO_HUGETLB, "no-hugetlb")     /* the kernel has no huge pages */                         \
        X(NO_PAGE_SIZE, "no-page-size") /* not this size on this CPU or kernel */                  \
        X(NODE_ABSENT, "node-absent")   /* a named node is not there, offline or without memory */ \
        X(OUTSIDE_CPUSET, "outside-cpuset")       /* our own cpuset keeps us off the node */       \
        X(ENGINE_SIZE, "engine-size")             /* the engine's rule cannot size it */           \
        X(NOT_ENOUGH_MEMORY, "not-enough-memory") /* of the nodes, KeepFree= left aside */         \
        X(FRAGMENTED, "fragmented")     /* memory is free, but not in large enough blocks */       \
        X(WRITE_FAILED, "write-failed") /* the kernel refused the write */                         \
        X(TAKEN, "taken")               /* others took pages that were reserved */                 \
        X(POOL_SHRANK, "pool-shrank")   /* the pool no longer holds what was reserved */           \
        X(BOOT_GUARD, "boot-guard")     /* boots in a row have failed */                           \
        X(RELEASED, "released")         /* given back by hand */                                   \
        X(SIZE_UNKNOWN, "size-unknown") /* Memory=auto, and the engine could not be asked yet */   \
        X(BEYOND_BOUND, "beyond-bound") /* a learned size is more than it may come to */           \
        X(NO_HUGETLB_LIMIT, "no-hugetlb-limit") /* Isolate=yes, and the unit cannot be limited */  \
        X(MEMORY_LIMIT, "memory-limit")   /* MemoryMax= or its like is below the huge pages */     \
        X(MOUNT_MISSING, "mount-missing") /* nothing is mounted where Mount= wants it */           \
        X(SHM_GROUP_MISSING, "shm-group-missing") /* the unit has no right to System V segments */

#define REASON_ENUMERATOR(name, id) REASON_##name,
typedef enum ReasonKind { REASONS(REASON_ENUMERATOR) REASON_KINDS } ReasonKind;

typedef struct Reason {
        ReasonKind kind;
        const char *text;   /* one sentence with the figures, no full stop; NULL for none */
        const char *remedy; /* what to do, no full stop; NULL where there is nothing to do */
} Reason;

/* The stable name for scripts and the catalogue: "not-enough-memory". From such a name: -EINVAL
 * for one that is none. */
const char *reason_id(ReasonKind kind);
int reason_from_id(const char *id, ReasonKind *ret);
