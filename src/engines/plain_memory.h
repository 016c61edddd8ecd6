/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The formula of engines of which no more is known than the memory that the user gives: it is what they take. Only
 * the engines include this. */

#include "engines/formula.h"

/* `memory`, and nothing else. */
extern const ParameterTable plain_memory_parameters;

/* As EngineFormula.size, of the one setting `memory`. */
const char *plain_memory_size(const Engine *engine, Arena *arena, const Settings *settings,
                              uint64_t page_size_bytes, Sizing *ret);
