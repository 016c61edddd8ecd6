/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The starts that are under way: whose gates have asked, and were not let start yet. */

#include "plan/plan.h"

typedef struct Starts {
        Arena *arena;
        PlanStartings list;
        uint64_t refused_usec; /* when those that were refused were looked at first; 0: not yet */
        bool is_unplanned;     /* some have begun since the last plan was made */
} Starts;

/* START, which is copied, begins; in place of an earlier one of the same instance. */
void starts_begin(Starts *starts, const PlanStarting *start);
void starts_forget(Starts *starts, const char *instance);

/* The control group of its unit is still there for a moment, which does not mean that it runs. Where it is there for
 * longer, systemd goes on though the gate has failed. */
void starts_note_refused(Starts *starts, const char *instance);

/* Whether the processes of a start that was refused may have yet to end. */
bool starts_wait_for_end(const Starts *starts);

/* Those that have ended by USE, or were refused a while ago: they run all the same. */
void starts_forget_refused(Starts *starts, const HostUse *use, uint64_t now_usec);
