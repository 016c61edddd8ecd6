/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "keeper/keeper_call.h"

/* Looks anew, and says what others have changed since the host was left; what they have moved between
 * nodes is to be repaired, too. How many there are to repair; the keeper's fault says whether that could be seen. */
size_t keeper_look_for_drift(Keeper *keeper);

/* The same of a LOOK that was made already. */
size_t keeper_note_drift(Keeper *keeper, const Look *look);

/* By the last look: what has been repaired is told again when it comes again. */
void keeper_forget_drift(Keeper *keeper);
