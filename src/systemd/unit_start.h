/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Has systemd start a unit of ours, or read all units anew, and tells when that has ended: all that it is ever asked
 * to do. Like
 * its questions (unit_manager.h) it has a connection of its own, which goes with it. */

#include "systemd/unit_manager.h"

typedef struct UnitStart UnitStart;

/* UNIT is of Type=oneshot, whose start has ended when it has; NULL: all units are read anew, as by 'systemctl
 * daemon-reload'. LOOP looks after it for LIMIT_USEC. Negative errno
 * where there is nobody to be asked. HANDLER is told -ETIMEDOUT, -ECANCELED where the unit has failed, another errno
 * where systemd does not take it, or 0; it is the handler's to free the start. */
int unit_start_new(const Root *root, const char *unit, Loop *loop, uint64_t limit_usec,
                   UnitTalkHandler handler, void *userdata, UnitStart **ret);
UnitStart *unit_start_free(UnitStart *start); /* takes NULL; returns NULL */
