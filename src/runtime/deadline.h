/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Deadlines: points in time of the one clock (runtime/clock.h); UINT64_MAX is never. */

#include "base/macros.h"

uint64_t deadline_in(uint64_t timeout_usec);

/* 0: it is over. UINT64_MAX where it never is. */
uint64_t deadline_left_usec(uint64_t deadline_usec);

/* Waits until FD is ready for EVENTS (poll(2)), hung up or broken, which the next read or write tells; signals
 * do not end it. -ETIMEDOUT at the deadline; it looks once where that is over already. */
int deadline_poll(int fd, short events, uint64_t deadline_usec);
