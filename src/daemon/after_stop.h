/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* `hugepland --after-stop=UNIT`, as ExecStopPost= of our units: removes files that are valid only while the daemon
 * maintains them. Never gives pages back. */

#include "host/root.h"

/* RESULT is $SERVICE_RESULT (systemd.exec(5)) or NULL. Returns the exit code. */
int after_stop(const Root *root, const char *unit, const char *result);
