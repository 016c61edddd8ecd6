/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The drop-ins that make database units wait for their reservation. systemd.unit(5).
 *
 * Wants= and After=, never Requires= or its kin: those would restart the database whenever hugeplan
 * is restarted. The gate is an ExecStartPre=, so that it runs at every start, is retried by
 * Restart= and speaks in the database's own log. */

#include "core/config.h"

typedef struct Dropin {
        const char *unit;
        const char *text;
} Dropin;

typedef VEC(Dropin) Dropins;

/* One for each unit of CONFIG, sorted by unit; several instances may share a unit. CTL is the path
 * of hugeplanctl. */
Dropins dropins_make(Arena *arena, const Config *config, const char *ctl);
