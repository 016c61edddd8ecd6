/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "keeper/keeper_call.h"

/* Reads configuration and state, and makes a first plan; writes nothing. */
void keeper_start(Keeper *keeper);

/* What a look could not read, or that all can be read again: told once, and kept in keeper->fault. */
void keeper_note_fault(Keeper *keeper, const ReadFault *fault);

/* Takes the place of what the keeper knew, unless it has a fault, which is told: false. LOOK is in ARENA,
 * which is taken. */
bool keeper_adopt(Keeper *keeper, Arena *arena, Look *look);

/* A look as plans are made from, in ARENA. Where it took the reserve of memory (base/memory.h) it has a
 * fault: it would keep that for as long as it stands, and what follows from it takes more. */
Look *keeper_make_look(const Keeper *keeper, Arena *arena);

/* Looks anew, as plans are made from now on; false: it cannot be read, and the last look stands. */
bool keeper_look_anew(Keeper *keeper);

/* Reads again what a start could not read; false: nor could this. */
bool keeper_finish_start(Keeper *keeper);

LookInput keeper_look_input(const Keeper *keeper);

/* Notes what the pools hold, for keeper_pool_changes(). */
ReadFault keeper_note_before(Keeper *keeper);

/* What pools have lost or gained since keeper_release() or another call began; in ARENA. */
PoolChanges keeper_pool_changes(const Keeper *keeper, Arena *arena);
