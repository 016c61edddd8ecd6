/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Scripts on the model. */

#include "model/script.h"

typedef struct ScriptModel ScriptModel;

/* KERNEL is the caller's, and has to live as long. */
ScriptModel *script_model_new(Arena *arena, Kernel *kernel);

extern const ScriptBackend script_model;
