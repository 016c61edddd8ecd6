/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "runtime/log.h"

#include <string.h>
#include <systemd/sd-event.h>

/* Of a timer that could not be set (negative errno) nothing would ever come: the daemon ends, and the next one
 * goes on from the state on /run. */
static inline void loop_need(sd_event *event, int error) {
        if (error >= 0)
                return;
        log_line(LOG_ERR, "the event loop cannot take more (%s): the daemon is to be started anew",
                 strerror(-error));
        sd_event_exit(event, error);
}
