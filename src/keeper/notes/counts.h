/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the kernel counts for the units that run. Nobody tells when a server has taken what it takes, so a count is
 * believed once it has stayed the same for seconds. */

#include "promise/unit_use.h"

/* Of all page sizes together. */
typedef struct Counted {
        const char *unit;
        uint64_t bytes;
        uint64_t since_usec; /* when it was seen to be that first */
        bool is_at_rest;     /* it has stayed that */
} Counted;

typedef struct Counts {
        Arena *arena;
        VEC(Counted) list;
} Counts;

/* UNIT has been let start: what was counted for it is over. */
void counts_begin(Counts *counts, const char *unit);

/* Adds how UNIT is counted now to NEXT, which takes the place of BEFORE; whether it has come to rest by that. */
bool counts_add(Counts *next, const Counts *before, const UnitUse *unit, uint64_t now_usec);

/* Whether the count of a unit has yet to come to rest; IS_EARLY: or has yet to begin. */
bool counts_are_pending(const Counts *counts, bool is_early);
