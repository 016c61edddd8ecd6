/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "keeper/keeper_call.h"

/* Whether RUN of the instance's unit was refused already: it has had its rounds. */
bool keeper_was_refused(const Keeper *keeper, const char *instance, const char *run);

/* Takes note that GATE, if it is one, is about to start. Who tries several does that for all before he tries the first:
 * then one look and one plan are for all of them. */
void keeper_begin_gate(Keeper *keeper, Gate *gate);

/* *RET_INSTANCE is its status. MAY_TRY: a round may be run for it. What was answered counts once keeper_end_gates() has
 * been called, and nobody is told before. */
GateAnswer keeper_try_gate(Keeper *keeper, GateView *view, Gate *gate, bool may_try,
                           StatusInstance *ret_instance, Reason *ret_reason);

/* The time of GATE, which starts, is over: it was not let start because of REASON. Counts once keeper_end_gates() has
 * been called. */
void keeper_time_out_gate(Keeper *keeper, GateView *view, const Gate *gate, const Reason *reason);

/* After the last one: what was noted for them is on disk from now on. VIEW is {} again. */
void keeper_end_gates(Keeper *keeper, GateView *view);
