/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Why a unit of ours stops, for its ExecStopPost=, which runs after every end and gets from systemd only whether
 * the unit failed. */

#include "host/root.h"

typedef enum UnitStop {
        UNIT_STOP_FOR_GOOD, /* the unit or a unit that it depends on was stopped on request */
        UNIT_STOP_RESTART,  /* the unit is restarted */
        UNIT_STOP_HOST,     /* the host shuts down, perhaps for a soft-reboot that keeps /run */
        UNIT_STOP_ITSELF,   /* without a request: the unit ended or failed */
} UnitStop;

/* Queries systemd (unit_manager.h) about UNIT, by two or three calls of at most LIMIT_USEC each. Returns a
 * negative errno if there is no answer. */
int unit_stop_find(const Root *root, const char *unit, uint64_t limit_usec, UnitStop *ret);
