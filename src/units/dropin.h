/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The drop-ins that make database units wait for their reservation. systemd.unit(5).
 *
 * Wants= and After=, never Requires= or its kin: those would restart the database whenever hugeplan
 * is restarted. The gate is an ExecStartPre=, so that it runs at every start, is retried by
 * Restart= and speaks in the database's own log. */

#include "config/config.h"
#include "model/memory_policy.h"
#include "read/source.h"

typedef struct Dropin {
        const char *unit;
        const char *text;
} Dropin;

typedef VEC(Dropin) Dropins;

typedef struct DropinInput {
        const Config *config;
        const char *ctl; /* path of hugeplanctl */
        /* The group NAME_HUGETLB_GROUP exists. A unit with SupplementaryGroups= of one that does not
         * fails to start, so it is left out then. */
        bool has_group;
        unsigned systemd_version;  /* for what not every version knows; 0: not known */
        const IdSet *memory_nodes; /* the nodes that have memory; NULL: not known */
} DropinInput;

/* Whether TEXT, the drop-in of UNIT, names what the host lacks by now, or leaves out what it has now. With what is not
 * there no process of the unit could be started: it is left out, so that the gate runs and says what is missing. */
bool dropin_is_outdated(Arena *arena, const DropinInput *now, const char *unit, const char *text);

/* The units that are to have one, sorted. */
SourceNames dropin_units(Arena *arena, const Config *config);

/* One for each unit of the configuration, sorted by unit; several instances may share a unit. */
Dropins dropins_make(Arena *arena, const DropinInput *input);
