/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "keeper/keeper_call.h"

/* Looks again and reports external changes, pages moved between nodes included. Returns the number of changes that can
 * be repaired; sets the keeper's fault if the host cannot be read. */
size_t keeper_look_for_drift(Keeper *keeper);

/* The same for an existing LOOK. */
size_t keeper_note_drift(Keeper *keeper, const Look *look);

/* Forgets reported drift that the last look no longer shows, so that it is reported again if it returns. */
void keeper_forget_drift(Keeper *keeper);
