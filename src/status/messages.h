/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The journal's message identifiers, one for each kind of reason or problem. Their explanations
 * stand in units/hugeplan.catalog. They never change. systemd.journal-fields(7), MESSAGE_ID. */

#include "status/status.h"

typedef struct Message {
        const char *kind; /* the id of a reason or problem, its family, or a verdict */
        const char *id;   /* 128 bits as 32 hexadecimal digits */
} Message;

extern const Message messages[];
extern const size_t n_messages;

/* Of this kind, or else of its family, which is its first word: "config-syntax" is explained as
 * "config". NULL for kinds that have none. */
const Message *message_find(const char *kind);

/* The kind by which the journal tells of an instance: its reason, or a verdict without one. */
const char *message_kind(const StatusInstance *instance);
