/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Drift: how the host differs from the plan that was applied. */

#include "plan/host_plan.h"

typedef enum DriftKind {
        DRIFT_POOL_LOWERED, /* fewer persistent pages than the instances need */
        DRIFT_POOL_RAISED,  /* others have added pages, which are theirs */
        DRIFT_NODE_GONE,    /* a node with granted pages does not exist any more */
        DRIFT_HOST,         /* transparent huge pages or a limit differ */
} DriftKind;

typedef struct Drift {
        DriftKind kind;
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t expected_pages;
        uint64_t found_pages;
        const char *path;     /* of DRIFT_HOST: the kernel's file */
        const char *expected; /* the value that it should have */
} Drift;

typedef VEC(Drift) Drifts;

/* Returns what differs between NOW and what PLAN and LEDGER say; HOST is the host plan made for NOW. */
Drifts drift_find(Arena *arena, const Plan *plan, const Ledger *ledger, const Topology *now,
                  const HostPlan *host);

/* Returns whether hugeplan repairs DRIFT: all but pages that others have added. */
bool drift_wants_repair(const Drift *drift);

/* Returns "node 0 has 12 pages of 2M instead of 540". */
char *drift_format(Arena *arena, const Drift *drift);
