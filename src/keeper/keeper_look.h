/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "keeper/keeper_call.h"

/* Reads the configuration and the state and makes the first plan. Writes nothing. */
void keeper_start(Keeper *keeper);

/* Stores FAULT as the keeper's fault and reports it if it is new, or that everything can be read again. */
void keeper_note_fault(Keeper *keeper, const ReadFault *fault);

/* Replaces the keeper's look with LOOK and takes ownership of ARENA. Returns false, and reports the fault, if LOOK has
 * one. */
bool keeper_adopt(Keeper *keeper, Arena *arena, Look *look);

/* Makes a look for planning, allocated in ARENA. A look that has used the memory reserve (base/memory.h) gets a fault,
 * because keeping it would keep the reserve in use. */
Look *keeper_make_look(const Keeper *keeper, Arena *arena);

/* Looks again and plans. Returns false, keeping the last look, if the host cannot be read. */
bool keeper_look_anew(Keeper *keeper);

/* Reads again what could not be read at startup. Returns false if that still fails. */
bool keeper_finish_start(Keeper *keeper);

LookInput keeper_look_input(const Keeper *keeper);

/* Records the sizes of the pools for keeper_pool_changes(). */
ReadFault keeper_note_before(Keeper *keeper);

/* The changes of the pools since keeper_note_before(), allocated in ARENA. */
PoolChanges keeper_pool_changes(const Keeper *keeper, Arena *arena);
