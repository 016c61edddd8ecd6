/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The journal's message identifiers, one for each kind of reason or problem. Their explanations
 * stand in units/hugeplan.catalog. They never change. systemd.journal-fields(7), MESSAGE_ID. */

typedef struct Message {
        const char *kind; /* the id of a reason or problem, or an event of the daemon */
        const char *id;   /* 128 bits as 32 hexadecimal digits */
} Message;

/* NULL for kinds that have none. Everything that begins with "config-" is "config". */
const char *message_id(const char *kind);
