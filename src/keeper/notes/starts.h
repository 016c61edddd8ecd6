/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Starts in progress: their gates have called and have not passed yet. */

#include "plan/plan.h"

typedef struct Starts {
        Arena *arena;
        PlanStartings list;
        uint64_t refused_usec; /* when refused starts were first looked at; 0: not yet */
        bool is_unplanned;     /* some have begun since the last plan was made */
} Starts;

/* Adds a copy of START and removes an earlier start of the same instance. */
void starts_begin(Starts *starts, const PlanStarting *start);
void starts_forget(Starts *starts, const char *instance);

/* Marks the start of INSTANCE as refused. The unit's control group exists for a moment longer, which does not mean that
 * the unit runs; if it exists for longer, systemd has started the unit although the gate has failed. */
void starts_note_refused(Starts *starts, const char *instance);

/* Whether processes of a refused start may still be ending. */
bool starts_wait_for_end(const Starts *starts);

/* Removes refused starts whose unit has ended according to USE, or which were refused some time ago and run all the
 * same. */
void starts_forget_refused(Starts *starts, const HostUse *use, uint64_t now_usec);
