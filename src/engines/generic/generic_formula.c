/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any program that maps a known amount of memory with huge pages: a virtual machine, DPDK, Informix. The user
 * gives the amount. */

#include "engines/plain_memory.h"

const EngineFormula formula_generic = {plain_memory_add, &plain_memory_parameters};
