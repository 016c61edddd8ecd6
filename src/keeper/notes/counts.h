/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the kernel counts for running units. A server does not say when it has mapped everything, so a count is used
 * once it has not changed for some seconds. */

#include "plan/charges.h"

/* The count of one unit, of all page sizes together. */
typedef struct Counted {
        const char *unit;
        uint64_t bytes;
        uint64_t since_usec; /* when the count was first seen */
        bool is_at_rest;     /* it has not changed for some seconds */
} Counted;

typedef struct Counts {
        Arena *arena;
        VEC(Counted) list;
} Counts;

/* Forgets the count of UNIT, which is starting. */
void counts_begin(Counts *counts, const char *unit);

/* Adds the count of UNIT to NEXT, which is to replace BEFORE. Returns whether the count is at rest since this call. */
bool counts_add(Counts *next, const Counts *before, const UnitUse *unit, uint64_t now_usec);

/* Whether the count of a unit is still changing; IS_EARLY: or has not begun. */
bool counts_are_pending(const Counts *counts, bool is_early);
