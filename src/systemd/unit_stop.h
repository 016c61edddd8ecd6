/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a unit of ours stops for, asked by its ExecStopPost=: that runs after every end, of which
 * systemd tells it no more than whether it was a failure. */

#include "host/root.h"

typedef enum UnitStop {
        UNIT_STOP_FOR_GOOD, /* somebody has stopped it, or a unit that it depends on */
        UNIT_STOP_RESTART,  /* it is started again at once */
        UNIT_STOP_HOST,     /* the host goes down, perhaps to come up again with the same /run */
        UNIT_STOP_ITSELF,   /* nobody has asked for it: it ended, or failed */
} UnitStop;

/* Asks systemd (unit_manager.h) about UNIT, LIMIT_USEC for each of two or three questions. Negative
 * errno where it gives no answer. */
int unit_stop_find(const Root *root, const char *unit, uint64_t limit_usec, UnitStop *ret);
