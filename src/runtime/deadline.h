/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Deadlines: times of the clock of runtime/clock.h; UINT64_MAX is never. */

#include "base/macros.h"

uint64_t deadline_in(uint64_t timeout_usec);

/* Returns 0 if the deadline has passed, and UINT64_MAX if it is never. */
uint64_t deadline_left_usec(uint64_t deadline_usec);

/* Waits until FD is ready for EVENTS (poll(2)) or has an error or hangup, which the next read or write reports. Signals
 * do not end the wait. Returns -ETIMEDOUT at the deadline; polls once if the deadline has passed. */
int deadline_poll(int fd, short events, uint64_t deadline_usec);
