/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reasons: why an instance does not have its pages, with the evidence in words and what to do. */

#include "base/arena.h"

typedef enum ReasonKind {
        REASON_NONE,
        REASON_CONFIG,            /* its file is refused */
        REASON_NO_HUGETLB,        /* the kernel has no huge pages */
        REASON_NO_PAGE_SIZE,      /* not this size on this CPU or kernel */
        REASON_NODE_ABSENT,       /* a named node is not there, offline or without memory */
        REASON_OUTSIDE_CPUSET,    /* our own cpuset keeps us off the node */
        REASON_ENGINE_SIZE,       /* the engine's rule cannot size it */
        REASON_NOT_ENOUGH_MEMORY, /* more than the nodes have, KeepFree= left aside */
        REASON_FRAGMENTED,        /* memory is free, but not in large enough blocks */
        REASON_WRITE_FAILED,      /* the kernel refused the write */
        REASON_TAKEN,             /* others took pages that were reserved */
        REASON_POOL_SHRANK,       /* the pool no longer holds what was reserved */
        REASON_BOOT_GUARD,        /* boots in a row have failed */
        REASON_RELEASED,          /* given back by hand */
        REASON_SIZE_UNKNOWN,      /* Memory=auto, and the engine could not be asked yet */
        REASON_NO_HUGETLB_LIMIT,  /* Isolate=yes, and the unit cannot be limited */
        REASON_MEMORY_LIMIT,      /* MemoryMax= or its like is below the huge pages */
        REASON_KINDS,
} ReasonKind;

typedef struct Reason {
        ReasonKind kind;
        const char *text;   /* one sentence with the figures, no full stop; NULL for none */
        const char *remedy; /* what to do, no full stop; NULL where there is nothing to do */
} Reason;

/* The stable name for scripts and the catalogue: "not-enough-memory". From such a name: -EINVAL
 * for one that is none. */
const char *reason_id(ReasonKind kind);
int reason_from_id(const char *id, ReasonKind *ret);
