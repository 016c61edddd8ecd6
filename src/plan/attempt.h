/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Attempts: the moves of an escalation (apply/escalation.h) for a pool, and the result of each. */

#include "base/vec.h"

#include <jansson.h>

typedef enum EscalationAction {
        ESCALATION_WRITE,       /* set the persistent count to `pages` */
        ESCALATION_RECLAIM,     /* reclaim `bytes` of the node */
        ESCALATION_COMPACT,     /* compact the node */
        ESCALATION_DROP_CACHES, /* drop the host's clean caches */
        ESCALATION_DEMOTE, /* demote pages into smaller ones; decided by the plan, never by escalation */
        ESCALATION_DONE,
} EscalationAction;

/* A move and its result. */
typedef struct EscalationRecord {
        EscalationAction action;
        uint64_t pages_before; /* persistent */
        uint64_t pages_after;
        uint64_t usec;
        int error; /* 0 or a negative errno */
} EscalationRecord;

typedef struct Attempt {
        unsigned node;
        uint64_t page_size_bytes;
        EscalationRecord record;
} Attempt;

typedef VEC(Attempt) Attempts;

/* "write", "reclaim", "compact", "drop-caches", "demote". */
const char *escalation_action_name(EscalationAction action);

json_t *attempt_to_json(const Attempt *attempt);
int attempt_from_json(const json_t *json, Attempt *ret); /* -EPROTO: JSON is no attempt */

/* "node 1, 2M: compact: 355 -> 355 pages in 120ms: Input/output error". */
char *attempt_format(Arena *arena, const Attempt *attempt);
