/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Checks whether the units that instances name run their databases. Without this check a mistake in Unit= goes
 * unnoticed: a template yields a unit of any name, whose drop-in is never used, and the real server starts without
 * a gate.
 *
 * A unit whose program is not known is no problem, because a script may start any program. */

#include "units/loaded_unit.h"

typedef struct UnitMatchInput {
        const Config *config;
        const Plan *plan;
        const UnitSearch *search; /* NULL: the host's files are not searched */
        /* Also report what may be deliberate: two instances that share a unit. */
        bool is_asked;
} UnitMatchInput;

/* Adds unit-wrong for instances whose loaded unit starts another program or, with a search, a server that does not
 * exist; the remedy names the nearest unit of an existing server. Adds unit-shared for units that several instances
 * name: a warning, or a notice if the instances differ in page size, engine or database files. */
void unit_match_judge(Arena *arena, const UnitMatchInput *input, const LoadedUnits *units,
                      Diags *problems);

/* Returns whether COMMAND_LINES, those of a unit, start a server of ENGINE. */
bool unit_match_is_server(Arena *arena, const Engine *engine, const SourceNames *command_lines);
