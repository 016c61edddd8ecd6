/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Transparent huge pages: the policy names of configuration and kernel. */

#include "base/arena.h"

typedef enum ThpPolicy {
        THP_AUTO, /* in [Host]: resolve from the instances; as an instance's preference: none */
        THP_KEEP, /* leave the kernel's setting as it is */
        /* From the weakest to the strongest. */
        THP_NEVER,
        THP_MADVISE,
        THP_ALWAYS,
} ThpPolicy;

/* "auto", "keep", "never", "madvise", "always". */
const char *thp_policy_name(ThpPolicy policy);
int thp_policy_from_name(const char *name, ThpPolicy *ret);

/* Returns the choice in brackets in a kernel file: "always [madvise] never" -> "madvise"; NULL if there are none. */
char *thp_selected(Arena *arena, const char *file_text);
