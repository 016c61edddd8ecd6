/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "keeper/keeper_call.h"

/* What is true now, from fresh counts; in ARENA. IS_RETRYING: another round will come. */
Status *keeper_judge(const Keeper *keeper, Arena *arena, bool is_retrying);

/* The same right after keeper_next() has ended a round, by what was read for that; another time, as fresh. */
Status *keeper_judge_round(Keeper *keeper, Arena *arena, bool is_retrying);

/* What is true by the counts and units of SEEN, which stand; NULL: by fresh ones. In ARENA. */
Status *keeper_judge_seen(const Keeper *keeper, Arena *arena, const Look *seen);
