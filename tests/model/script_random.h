/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Random scripts: the same seed and host give the same lines. They are performed on a model of the host
 * as they are made, so that most of them concern what is there. */

#include "model/script.h"

typedef struct ScriptRandom ScriptRandom;

typedef struct ScriptRandomOptions {
        uint64_t seed;
        const char *host; /* for kernel_new() */
        bool has_groups, has_cpusets;
        bool has_mounts; /* kernels miscount what is reserved for them, and that stays until they boot */
} ScriptRandomOptions;

ScriptRandom *script_random_new(Arena *arena, const ScriptRandomOptions *options);

/* The next line, in the arena. Never more pages at once than some 200 of the first size of a script. */
const char *script_random_line(ScriptRandom *random);

/* The model frees what it holds. Takes NULL; returns NULL. */
ScriptRandom *script_random_free(ScriptRandom *random);
