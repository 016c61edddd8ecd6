/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "keeper/keeper_call.h"

/* Takes note of what units have mapped that run, by the last look: what has come to rest is what they take. FILES: the
 * configuration as it is on disk now; what is returned refers to it, and is in ARENA. *RET_HAS_CHANGED: a figure is
 * another one by that, or something is to be given back. */
LearnedNewsList keeper_take_counts(Keeper *keeper, Arena *arena, const Config *files,
                                   uint64_t now_usec, bool *ret_has_changed);

/* What INSTANCE, a name of the configuration in force, needs by what was found out since that was read. */
void keeper_set_found(Keeper *keeper, const char *instance, const PageCount *count);
