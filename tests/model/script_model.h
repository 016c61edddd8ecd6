/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Performs scripts on the model. */

#include "model/script.h"

typedef struct ScriptModel ScriptModel;

/* KERNEL must outlive the ScriptModel. */
ScriptModel *script_model_new(Arena *arena, Kernel *kernel);

extern const ScriptBackend script_model;
