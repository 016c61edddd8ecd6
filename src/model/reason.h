/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reasons: why an instance does not have its pages, with the figures in words and what to do. */

#include "base/arena.h"

#define REASONS(X)                                                                                \
        X(NONE, "none")                                                                           \
        X(CONFIG, "config")             /* the instance's file is refused */                      \
        X(NO_PAGE_SIZE, "no-page-size") /* this CPU or kernel lacks the size */                   \
        X(NODE_ABSENT, "node-absent")   /* a named node is missing, offline or without memory */  \
        X(OUTSIDE_CPUSET, "outside-cpuset")       /* hugepland's cpuset excludes the node */      \
        X(ENGINE_SIZE, "engine-size")             /* the engine's rule gives no size */           \
        X(NOT_ENOUGH_MEMORY, "not-enough-memory") /* on the nodes, without KeepFree= */           \
        X(FRAGMENTED, "fragmented")               /* free memory is not in large enough blocks */ \
        X(WRITE_FAILED, "write-failed")           /* the kernel refused the write */              \
        X(TAKEN, "taken")                         /* other processes took reserved pages */       \
        X(POOL_SHRANK, "pool-shrank")             /* the pool lost reserved pages */              \
        X(BOOT_GUARD, "boot-guard")               /* consecutive boots have failed */             \
        X(RELEASED, "released")                   /* released manually */                         \
        X(SIZE_UNKNOWN, "size-unknown")           /* Memory=auto, and nothing learned yet */      \
        X(BEYOND_BOUND, "beyond-bound")           /* a learned size exceeds its bound */          \
        X(NO_HUGETLB_LIMIT, "no-hugetlb-limit") /* Isolate=yes, but the unit cannot be limited */ \
        X(MEMORY_LIMIT, "memory-limit")   /* a control group's limit is below the huge pages */   \
        X(MOUNT_MISSING, "mount-missing") /* nothing is mounted at Mount= */                      \
        X(SHM_GROUP_MISSING, "shm-group-missing") /* the unit may not use System V segments */    \
        X(STANDS_ASIDE, "stands-aside")           /* this host cannot have pages from it */

#define REASON_ENUMERATOR(name, id) REASON_##name,
typedef enum ReasonKind { REASONS(REASON_ENUMERATOR) REASON_KINDS } ReasonKind;

typedef struct Reason {
        ReasonKind kind;
        const char *text;   /* one sentence with the figures, no full stop; NULL for none */
        const char *remedy; /* what to do, no full stop; NULL: nothing to do */
} Reason;

/* Returns a reason with the text FORMAT, in ARENA. REMEDY is not copied; NULL: none. */
Reason reason_make(Arena *arena, ReasonKind kind, const char *remedy, const char *format, ...)
        PRINTF_LIKE(4, 5);

/* The stable name for scripts and the catalogue: "not-enough-memory". reason_from_id() returns -EINVAL for an unknown
 * name. */
const char *reason_id(ReasonKind kind);
int reason_from_id(const char *id, ReasonKind *ret);
