/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Pages that lie idle: in a pool, and neither planned, nor used, nor a cover for anybody. They are what the plan
 * would give back if hugeplan had reserved all pages itself; so what holds of its own writes holds for whoever takes
 * them away: everybody who has reserved pages still finds them, and there is nothing to be reserved again. */

#include "plan/plan.h"

typedef struct IdlePool {
        const PlanPool *planned;
        uint64_t pages; /* once the plan is applied; not 0 */
} IdlePool;

typedef VEC(IdlePool) IdlePools;

/* By PLAN, which was made from INPUT; a lower bound: what is only likely an instance's counts as others', and all
 * that the instance wants besides. None with ExistingPages=keep: then pages that were there are somebody's by
 * declaration. */
IdlePools idle_pools_find(Arena *arena, const PlanInput *input, const Plan *plan);

/* What stays reserved for others, beyond what there was before hugeplan and what it plans. */
uint64_t plan_held_by_others(const Plan *plan, uint64_t page_size_bytes);
