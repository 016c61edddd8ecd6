/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The drop-ins that make database units wait for their reservation. systemd.unit(5).
 *
 * They use Wants= and After=, never Requires= and the like, which would restart the database whenever
 * hugeplan is restarted. The gate is an ExecStartPre=, so that it runs at every start, is retried by
 * Restart= and logs to the database unit's journal. */

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
        /* Whether the group NAME_HUGETLB_GROUP exists. SupplementaryGroups= is left out if not, because a
         * unit with a missing group fails to start. */
        bool has_group;
        unsigned systemd_version;  /* for settings that need a certain version; 0: not known */
        const IdSet *memory_nodes; /* the nodes that have memory; NULL: not known */
} DropinInput;

/* Returns whether TEXT, in place of which NOW would be made, has a setting that the host no longer supports, or lacks one
 * that it supports now. An unsupported setting would fail every process of the unit; without it the gate can report it. */
bool dropin_is_outdated(const Dropin *now, const char *text);

/* Returns the units that get a drop-in, sorted. */
SourceNames dropin_units(Arena *arena, const Config *config);

/* Returns a drop-in for each unit of the configuration, sorted by unit; several instances may share a unit. */
Dropins dropins_make(Arena *arena, const DropinInput *input);
