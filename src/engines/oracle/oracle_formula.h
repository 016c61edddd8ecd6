/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Shared by Oracle's formula and the reader of its files. */

#include "engines/parameters.h"

extern const ParameterTable oracle_parameter_table;

/* Returns the SIDs of settings named SID.NAME, in the order of the settings; a single NULL if there are none. */
SourceNames oracle_sids_of(Arena *arena, const Settings *settings);
