/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Effort: what was done for a pool, step by step, and what each step brought. */

#include "plan/ladder.h"

#include <jansson.h>

typedef struct Effort {
        unsigned node;
        uint64_t page_size_bytes;
        LadderRecord record;
} Effort;

typedef VEC(Effort) Efforts;

json_t *effort_to_json(const Effort *effort);
int effort_from_json(const json_t *json, Effort *ret); /* -EPROTO if it is none */

/* "node 1, 2M: compact: 355 -> 355 pages in 120ms: Input/output error". */
char *effort_format(Arena *arena, const Effort *effort);
