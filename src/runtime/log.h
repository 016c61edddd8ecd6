/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Messages on standard error, with a priority in front if standard error is the journal (sd-daemon(3)), and
 * with the program's name otherwise. */

#include "base/arena.h"
#include "base/diag.h"

#include <syslog.h>

/* Returns whether standard error is the journal, by $JOURNAL_STREAM. */
bool log_is_journal(void);

/* Returns the syslog(3) priority of a severity. */
int log_level_of(Severity severity);

/* Writes one line, with unprintable characters escaped. LEVEL is a syslog(3) priority. */
void log_line(int level, const char *format, ...) PRINTF_LIKE(2, 3);
