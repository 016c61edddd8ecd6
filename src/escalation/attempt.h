/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Attempts: the moves of an escalation for a pool, and the result of each. */

#include "escalation/escalation.h"

#include <jansson.h>

typedef struct Attempt {
        unsigned node;
        uint64_t page_size_bytes;
        EscalationRecord record;
} Attempt;

typedef VEC(Attempt) Attempts;

json_t *attempt_to_json(const Attempt *attempt);
int attempt_from_json(const json_t *json, Attempt *ret); /* -EPROTO: JSON is no attempt */

/* "node 1, 2M: compact: 355 -> 355 pages in 120ms: Input/output error". */
char *attempt_format(Arena *arena, const Attempt *attempt);
