/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the programs say on standard error: with a priority in front for the journal
 * (sd-daemon(3)), with the program's name on a terminal. */

#include "base/arena.h"

#include <syslog.h>

/* LEVEL is a priority of syslog(3). */
void log_line(int level, const char *format, ...) PRINTF_LIKE(2, 3);
