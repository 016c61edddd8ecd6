/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Random scripts. The same seed and host give the same lines. Each line is performed on a model of the host when it is
 * made, so that most lines refer to existing objects. */

#include "model/script.h"

typedef struct ScriptRandom ScriptRandom;

typedef struct ScriptRandomOptions {
        uint64_t seed;
        const char *host; /* for kernel_new() */
        bool has_groups, has_cpusets;
        bool has_mounts; /* some kernels miscount the reservations of mounts until the next boot */
} ScriptRandomOptions;

ScriptRandom *script_random_new(Arena *arena, const ScriptRandomOptions *options);

/* The next line, in the arena. A script has never more than about 200 pages of its first size at the same time. */
const char *script_random_line(ScriptRandom *random);

/* Takes NULL; returns NULL. */
ScriptRandom *script_random_free(ScriptRandom *random);
