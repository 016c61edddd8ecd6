/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A status as a plugin of Nagios, Icinga, checkmk and the like says it: one line, figures behind "|", and an exit code.
 * Source: monitoring-plugins.org/doc/guidelines.html. */

#include "status/status.h"

/* The exit codes of plugins. */
typedef enum NagiosState {
        NAGIOS_OK,
        NAGIOS_WARNING, /* an instance is short and starts all the same, is worked on, or fell back; a warning */
        NAGIOS_CRITICAL, /* an instance does not start, or has lost pages; an error */
        NAGIOS_UNKNOWN,  /* it could not be judged */
} NagiosState;

NagiosState nagios_judge(const Status *status);

/* INSTANCE alone, with what is wrong with it and with hugeplan itself. */
Status *nagios_status_of(Arena *arena, const Status *status, const StatusInstance *instance);

/* WHY: what makes it unknown; else NULL. Ends with a newline. */
char *render_nagios(Arena *arena, const Status *status, const char *why);
