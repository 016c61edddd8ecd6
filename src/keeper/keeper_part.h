/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "keeper/keeper_call.h"

/* Takes unmapped pages of parts that are needed elsewhere, and looks again. Returns whether pages were taken; the
 * keeper's fault is set if the look failed. */
bool keeper_take_parts(Keeper *keeper);

/* Sets the hugetlb limit of the control group GROUP to COUNT. Returns false if that is not possible. */
bool keeper_limit_group(const Keeper *keeper, Arena *arena, const char *group,
                        const PageCount *count);

/* An instance that is more important than PLANNED and short of pages on its nodes; NULL: there is none. */
const PlanInstance *keeper_find_short_before(const Plan *plan, const PlanInstance *planned);
