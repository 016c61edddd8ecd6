/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The processes that run, by name, arguments and unit. */

#include "check/suggest.h"
#include "host/root.h"

/* Those that may be looked at, by number; kernel threads and those without arguments are left out. */
RunningProcesses processes_list(const Root *root, Arena *arena);
