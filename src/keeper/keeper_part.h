/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "keeper/keeper_call.h"

/* Takes what nobody has mapped of parts for those who miss it, and looks anew. Whether it has; then the keeper's fault
 * says whether that look could be made. */
bool keeper_take_parts(Keeper *keeper);

/* Keeps the control group GROUP of a unit to COUNT from now on; false: it cannot be kept to that. */
bool keeper_limit_group(const Keeper *keeper, Arena *arena, const char *group,
                        const PageCount *count);

/* Who is more important than PLANNED, which has a part, and short; NULL: nobody. */
const PlanInstance *keeper_find_short_before(const Plan *plan, const PlanInstance *planned);
