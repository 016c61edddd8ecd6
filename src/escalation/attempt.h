/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Attempts: what was done for a pool, step by step, and what each step brought. */

#include "escalation/escalation.h"

#include <jansson.h>

typedef struct Attempt {
        unsigned node;
        uint64_t page_size_bytes;
        EscalationRecord record;
} Attempt;

typedef VEC(Attempt) Attempts;

json_t *attempt_to_json(const Attempt *attempt);
int attempt_from_json(const json_t *json, Attempt *ret); /* -EPROTO if it is none */

/* "node 1, 2M: compact: 355 -> 355 pages in 120ms: Input/output error". */
char *attempt_format(Arena *arena, const Attempt *attempt);
