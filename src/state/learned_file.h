/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* NAME.conf.d/90-learned.conf: what is known of an instance from its starts, for the next boot. */

#include "demand/learned.h"
#include "host/root.h"

/* Writes it, on disk and whole, and removes the second file that earlier trees had. Negative errno. */
int learned_save(const Root *root, Arena *arena, const InstanceConfig *instance,
                 const Learned *learned);

/* Now, as people write it. */
char *learned_time(Arena *arena);
