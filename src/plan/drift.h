/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Drift: where the host no longer is as the plan left it. */

#include "plan/host_plan.h"

typedef enum DriftKind {
        DRIFT_POOL_LOWERED, /* fewer persistent pages than the instances need */
        DRIFT_POOL_RAISED,  /* others have added pages; they are theirs */
        DRIFT_NODE_GONE,    /* a node with pages of instances */
        DRIFT_HOST,         /* transparent huge pages or a limit are set otherwise */
} DriftKind;

typedef struct Drift {
        DriftKind kind;
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t expected_pages;
        uint64_t found_pages;
        const char *path;     /* of DRIFT_HOST: the kernel's file */
        const char *expected; /* what should stand in it */
} Drift;

typedef VEC(Drift) Drifts;

/* What differs between NOW and what PLAN and LEDGER say; HOST is the plan made for NOW. */
Drifts drift_find(Arena *arena, const Plan *plan, const Ledger *ledger, const Topology *now,
                  const HostPlan *host);

/* Whether it is for hugeplan to repair: not what others have added. */
bool drift_wants_repair(const Drift *drift);

/* "node 0 has 12 pages of 2M instead of 540". */
char *drift_format(Arena *arena, const Drift *drift);
