/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What Oracle's formula and the reader of its files share. */

#include "engines/parameters.h"

extern const ParameterTable oracle_parameter_table;
