/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a service manager and its services agree on, for programs that do without its library: sd_notify(3),
 * sd_listen_fds(3), sd_watchdog_enabled(3) and https://systemd.io/JOURNAL_NATIVE_PROTOCOL. Without a service manager
 * nothing happens. */

#include "base/macros.h"

/* Tells it "VARIABLE=VALUE", one to a line. */
void service_notify(const char *format, ...) PRINTF_LIKE(1, 2);

/* Asks for USEC from now on, where a time limit would be over sooner. */
void service_extend_timeout(uint64_t usec);

/* The first of the sockets that it listens on for this process; -1: there is none. */
int service_listen_fd(void);

/* Within which time it wants to hear "WATCHDOG=1", again and again; 0: it does not. */
uint64_t service_watchdog_usec(void);

/* One entry for the journal, of N fields "NAME=VALUE"; the program's name is added. Negative errno. */
int service_journal_send(const char *const *fields, size_t n);
