/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Idle pages: in a pool, and neither planned, nor used, nor a cover. They are what the plan would give back if hugeplan
 * had reserved all pages itself; so taking them away is as safe as hugeplan's own writes: every unit that has reserved
 * pages still finds them, and nothing has to be reserved again. */

#include "plan/plan.h"

typedef struct IdlePool {
        const PlanPool *planned;
        uint64_t pages; /* once the plan is applied; not 0 */
} IdlePool;

typedef VEC(IdlePool) IdlePools;

/* Returns the idle pages of PLAN, which was made from INPUT, as a lower bound: pages that are only likely an instance's
 * count as others', and so does all that the instance wants besides. None with ExistingPages=keep, which declares that
 * existing pages have an owner. */
IdlePools idle_pools_find(Arena *arena, const PlanInput *input, const Plan *plan);

/* Returns the pages that stay reserved for others, beyond the existing and the planned ones. */
uint64_t plan_held_by_others(const Plan *plan, uint64_t page_size_bytes);
