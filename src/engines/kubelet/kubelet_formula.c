/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What pods may ask for. */

#include "engines/plain_memory.h"

const EngineFormula formula_kubelet = {plain_memory_add, &plain_memory_parameters};
