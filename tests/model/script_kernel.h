/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Scripts on the kernel that runs: every process of the script is one of the host, every page a real
 * one. Needs root, and pools of which nothing is in use. */

#include "model/script.h"

typedef struct ScriptKernel ScriptKernel;

/* Empties the pools. NULL, and why not in *ret_reason. */
ScriptKernel *script_kernel_new(Arena *arena, const char **ret_reason);

/* Ends all processes, removes what was made, gives the pools the pages that they had. Takes NULL. False
 * where something could not be undone, which is said on standard error. */
bool script_kernel_free(ScriptKernel *kernel);

extern const ScriptBackend script_kernel;
