/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Whether the units that instances name are those that run their databases. A slip in Unit= is quiet
 * otherwise: a template makes a unit of any name, its drop-in is written and never used, and the real
 * server starts without a gate.
 *
 * Nothing is said where nothing is known: a script may start anything. */

#include "units/loaded_unit.h"

typedef struct UnitMatchInput {
        const Config *config;
        const Plan *plan;
        const Sources *sources; /* the host's files */
        /* The disks of the databases are mounted by now: a directory that is missing says something. */
        bool has_disks;
        /* Also what is told to who asks, though it may be meant: two instances that share a unit. */
        bool is_asked;
} UnitMatchInput;

/* Adds unit-wrong for instances whose unit, which is loaded, starts something else or a server that does
 * not exist; with the nearest unit of a server that does. Adds unit-shared for units that several
 * instances name: a warning, or a notice where page size, engine or files of the database tell them
 * apart. */
void unit_match_judge(Arena *arena, const UnitMatchInput *input, const LoadedUnits *units,
                      Diags *problems);

/* The unit of an existing server of the instance's engine whose name is the nearest to its own, and which
 * no instance names; NULL: there is none. */
const char *unit_match_nearest(Arena *arena, const Config *config, const Sources *sources,
                               const InstanceConfig *instance);
