/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The versions of engines whose preference for transparent huge pages, or whose size, depends on it: their programs
 * tell. */

#include "engines/reader.h"

/* ENGINE's program, asked for its version: the one that the unit starts, else the usual ones. GATHERED may be NULL where
 * the engine does not gather. */
void version_ask(Arena *arena, const Engine *engine, const EngineTarget *target,
                 const Sources *sources, const Gathered *gathered, Question *ret);

/* The version behind MARK in what the program has printed: at least two numbers, for a single one may be
 * anything. NULL, or a sentence. */
const char *version_answer(Arena *arena, const char *output, const char *mark,
                           const char **ret_version);
