/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Performs scripts on the running kernel, with real processes and pages. Requires root and pools without pages in use. */

#include "model/script.h"

typedef struct ScriptKernel ScriptKernel;

/* Empties the pools. Returns NULL and the reason if the host is unsuitable. */
ScriptKernel *script_kernel_new(Arena *arena, const char **ret_reason);

/* Ends all processes, removes everything, and restores the pools. Takes NULL. Returns false if something could not be
 * undone, which is printed to standard error. */
bool script_kernel_free(ScriptKernel *kernel);

extern const ScriptBackend script_kernel;
