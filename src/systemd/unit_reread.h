/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Has systemd read all units anew, as by 'systemctl daemon-reload', and tells when that has ended: all that it is ever
 * asked to do. Like its questions (unit_manager.h) it has a connection of its own, which goes with it. */

#include "systemd/unit_manager.h"

typedef struct UnitReread UnitReread;

/* LOOP looks after it for LIMIT_USEC. Negative errno where there is nobody to be asked. HANDLER is told -ETIMEDOUT,
 * another errno where systemd does not do it, or 0; it is the handler's to free it. */
int unit_reread_new(const Root *root, Loop *loop, uint64_t limit_usec, UnitTalkHandler handler,
                    void *userdata, UnitReread **ret);
UnitReread *unit_reread_free(UnitReread *reread); /* takes NULL; returns NULL */
