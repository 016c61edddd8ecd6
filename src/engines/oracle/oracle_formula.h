/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What Oracle's formula and the reader of its files share. */

#include "engines/parameters.h"

extern const ParameterTable oracle_parameter_table;

/* The SIDs of settings that are called SID.NAME, in the order in which they come; a single NULL where none is. */
SourceNames oracle_sids_of(Arena *arena, const Settings *settings);
