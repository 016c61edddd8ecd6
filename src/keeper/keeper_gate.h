/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "keeper/keeper_call.h"

/* Whether the start RUN of the instance's unit was refused before. */
bool keeper_was_refused(const Keeper *keeper, const char *instance, const char *run);

/* Records that the unit of GATE is starting. A caller with several gates calls this for all of them before it tries the
 * first, so that one look and one plan serve all. */
void keeper_begin_gate(Keeper *keeper, Gate *gate);

/* Decides on GATE and sets *RET_INSTANCE to the instance's status. MAY_TRY: a round may be run for the gate. The client
 * must not be answered before keeper_end_gates() has stored the answer. */
GateAnswer keeper_try_gate(Keeper *keeper, GateView *view, Gate *gate, bool may_try,
                           StatusInstance *ret_instance, Reason *ret_reason);

/* The time to wait of GATE is over: its start is refused for REASON. To be followed by keeper_end_gates(). */
void keeper_time_out_gate(Keeper *keeper, GateView *view, const Gate *gate, const Reason *reason);

/* After the last gate: stores the answers on disk and resets VIEW to {}. */
void keeper_end_gates(Keeper *keeper, GateView *view);
