/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "keeper/keeper_call.h"

/* Returns the current status from fresh counts, allocated in ARENA. IS_RETRYING: another round is scheduled. */
Status *keeper_judge(const Keeper *keeper, Arena *arena, bool is_retrying);

/* The same, but reuses the counts of a round that keeper_next() has just ended. */
Status *keeper_judge_round(Keeper *keeper, Arena *arena, bool is_retrying);

/* The same by the counts and units of SEEN, which are current; NULL: by fresh ones. */
Status *keeper_judge_seen(const Keeper *keeper, Arena *arena, const Look *seen);
