/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The running processes, with name, arguments and unit. */

#include "check/suggest.h"
#include "host/root.h"

/* Returns the readable processes that have arguments, so that kernel threads are left out. */
RunningProcesses processes_list(const Root *root, Arena *arena);
