/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The formula of engines of which no more is known than the memory that the user gives: it is what they take. Only
 * the engines include this. */

#include "engines/parameters.h"

/* `memory`, and nothing else. */
extern const ParameterTable plain_memory_parameters;

/* EngineFormula.add. */
const char *plain_memory_add(Arena *arena, const Settings *settings, const ParameterValue *values,
                             Sizing *sizing);
