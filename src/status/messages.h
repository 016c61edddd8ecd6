/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The journal's message identifiers, one for each kind of reason or problem. units/hugeplan.catalog explains them. An
 * identifier never changes. systemd.journal-fields(7), MESSAGE_ID. */

#include "status/status.h"

typedef struct Message {
        const char *kind; /* the id of a reason or problem, its family, or a verdict */
        const char *id;   /* 128 bits as 32 hexadecimal digits */
} Message;

extern const Message messages[];
extern const size_t n_messages;

/* Returns the message of KIND, or else that of its family, the first word of KIND: "config-syntax" is explained as
 * "config". Returns NULL if neither has a message. */
const Message *message_find(const char *kind);

/* Returns the kind under which the journal reports INSTANCE: its reason, or its verdict if that needs no reason. */
const char *message_kind(const StatusInstance *instance);
