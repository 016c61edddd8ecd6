/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Has systemd reload all units, as 'systemctl daemon-reload' does, and reports the end: the only action that hugeplan
 * requests from systemd. Like a query (unit_manager.h) it has a connection of its own, which is closed with it. */

#include "systemd/unit_manager.h"

typedef struct UnitReread UnitReread;

/* Has LOOP serve the reload for at most LIMIT_USEC. Returns a negative errno if systemd cannot be reached. HANDLER gets
 * 0, -ETIMEDOUT, or another negative errno if systemd refuses; it frees the reload. */
int unit_reread_new(const Root *root, Loop *loop, uint64_t limit_usec, UnitRequestHandler handler,
                    void *userdata, UnitReread **ret);
UnitReread *unit_reread_free(UnitReread *reread); /* takes NULL; returns NULL */
