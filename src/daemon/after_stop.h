/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* `hugepland --after-stop=UNIT`, as ExecStopPost= of our units: takes away what holds only as long as
 * somebody keeps it true. Never a page. */

#include "host/root.h"

/* RESULT is $SERVICE_RESULT (systemd.exec(5)), NULL where there is none. Gives the exit code. */
int after_stop(const Root *root, const char *unit, const char *result);
