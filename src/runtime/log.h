/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the programs say on standard error: with a priority in front where that is the journal
 * (sd-daemon(3)), with the program's name everywhere else. */

#include "base/arena.h"
#include "base/diag.h"

#include <syslog.h>

/* Whether standard error goes to the journal, as $JOURNAL_STREAM says. */
bool log_is_journal(void);

/* The priority of syslog(3) that a severity has. */
int log_level_of(Severity severity);

/* LEVEL is a priority of syslog(3). One line, and nothing in it that cannot be printed, whoever's words it repeats. */
void log_line(int level, const char *format, ...) PRINTF_LIKE(2, 3);
