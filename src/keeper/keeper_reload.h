/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A reload is a transaction (keeper_reload.c), carried out by the rounds that its caller begins. */

#include "keeper/keeper_call.h"

/* What keeper_reload() would do now, by the configuration on disk, and why that would be refused, which is added to
 * FALLS. In ARENA. */
Look *keeper_look_ahead(const Keeper *keeper, Arena *arena, Diags *falls);

/* The first half: either it is refused and nothing has changed, or KEEPER_RELOAD_BEGUN: a round by the new configuration
 * is to begin. IS_FORCED: even if an instance that stands would fall. */
KeeperReload keeper_reload_try(Keeper *keeper, bool is_forced);

/* The end of a round, for a reload under way; true: another round is to begin. */
bool keeper_reload_continue(Keeper *keeper);

/* The host cannot be read any more: a reload that is not in effect yet is taken back. */
void keeper_reload_break_off(Keeper *keeper);

/* Of the last reload, once its rounds are over. Refers to KEEPER. */
KeeperReloadResult keeper_reload_result(const Keeper *keeper);
