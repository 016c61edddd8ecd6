/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "keeper/keeper_call.h"

/* Takes the counts of running units by the last look; see keeper_count(). Sets *RET_HAS_CHANGED if a figure changes or
 * pages are to be given back. */
LearnedNewsList keeper_take_counts(Keeper *keeper, Arena *arena, const Config *files,
                                   uint64_t now_usec, bool *ret_has_changed);

/* Sets the size of INSTANCE, whose name is owned by the current configuration, to COUNT. */
void keeper_set_found(Keeper *keeper, const char *instance, const PageCount *count);
