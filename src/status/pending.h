/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files on disk have in store: the daemon runs by what it has read, and the next reload or boot
 * goes by what stands there then. */

#include "status/status.h"

typedef struct PendingInput {
        const Status *running; /* by the configuration that is in force, with its problems */
        const Config *files;   /* as they are now, and its problems */
        bool is_unread;        /* systemd has yet to read the units of FILES */
} PendingInput;

/* Adds config-pending for mistakes in the files that the status does not know yet: a reload would be
 * refused, and at the next boot the instances concerned would not start. Adds reload-pending for
 * instances that came, went or changed, and for [Host]; comments and blank lines change nothing. Of a
 * daemon that does not say what it has read, only names are compared. */
void pending_judge(Arena *arena, const PendingInput *input, Diags *problems);
