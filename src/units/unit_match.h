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
        const UnitSearch *search; /* NULL: the host's files are not looked through */
        /* Also what is told to who asks, though it may be meant: two instances that share a unit. */
        bool is_asked;
} UnitMatchInput;

/* Adds unit-wrong for instances whose unit, which is loaded, starts something else or, with a search, a server
 * that does not exist; with the nearest unit of a server that does. Adds unit-shared for units that several
 * instances name: a warning, or a notice where page size, engine or files of the database tell them
 * apart. */
void unit_match_judge(Arena *arena, const UnitMatchInput *input, const LoadedUnits *units,
                      Diags *problems);

/* Whether COMMAND_LINES, those of a unit, start a server of ENGINE. */
bool unit_match_is_server(Arena *arena, const Engine *engine, const SourceNames *command_lines);
