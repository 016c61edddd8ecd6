/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Random scripts: the same seed and host give the same lines. They are performed on a model of the host
 * as they are made, so that most of them concern what is there. */

#include "model/script.h"

typedef struct ScriptRandom ScriptRandom;

typedef struct ScriptRandomOptions {
        uint64_t seed;
        const char *host; /* for kernel_new() */
        Kernel *kernel;   /* instead: one that others do something to as well; the caller's */
        bool has_groups, has_cpusets;
        bool has_mounts; /* kernels miscount what is reserved for them, and that stays until they boot */
        bool leaves_pools; /* nobody writes to them, or to nr_overcommit_hugepages */
} ScriptRandomOptions;

ScriptRandom *script_random_new(Arena *arena, const ScriptRandomOptions *options);

/* The next line, in the arena. Never more pages at once than some 200 of the first size of a script. */
const char *script_random_line(ScriptRandom *random);

/* Frees the model, if it is its own. Takes NULL; returns NULL. */
ScriptRandom *script_random_free(ScriptRandom *random);
