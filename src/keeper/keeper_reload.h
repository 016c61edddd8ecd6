/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The decisions of a reload (keeper_reload.c). The caller runs the rounds. */

#include "keeper/keeper_call.h"

/* Returns the look with the plan that keeper_reload() would make now from the configuration on disk, allocated in
 * ARENA. Adds to FALLS the instances that would lose their pages. */
Look *keeper_look_ahead(const Keeper *keeper, Arena *arena, Diags *falls);

/* Starts a reload. Returns KEEPER_RELOAD_BEGUN if a round is to begin with the new configuration; otherwise nothing has
 * changed. IS_FORCED: even if instances lose their pages. */
KeeperReload keeper_reload_try(Keeper *keeper, bool is_forced);

/* Decides on a running reload at the end of a round. Returns true if another round is to begin. */
bool keeper_reload_continue(Keeper *keeper);

/* Rolls a reload back that is not in effect yet, because the host can no longer be read. */
void keeper_reload_break_off(Keeper *keeper);

/* The result of the last reload, after its rounds have ended. Refers to KEEPER. */
KeeperReloadResult keeper_reload_result(const Keeper *keeper);
