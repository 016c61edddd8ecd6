/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Differences between the configuration that the daemon has read, and the files on disk, which apply from the next
 * reload or boot on. */

#include "status/status.h"

typedef struct PendingInput {
        const Status *running; /* of the configuration in force, with its problems */
        const Config *files;   /* the files as they are now, with their problems */
        bool is_unread;        /* systemd has not read the units of FILES yet */
} PendingInput;

/* Adds config-pending for mistakes in the files that are not in the status yet: a reload would be refused, and at the
 * next boot the instances concerned would not start. Adds reload-pending for added, removed or changed instances and
 * for [Host]; changed comments and blank lines do not count. If a daemon does not say what it has read, only names are
 * compared. */
void pending_judge(Arena *arena, const PendingInput *input, Diags *problems);
