/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The protocols between a service manager and its services, without libsystemd: sd_notify(3), sd_listen_fds(3),
 * sd_watchdog_enabled(3) and https://systemd.io/JOURNAL_NATIVE_PROTOCOL. Without a service manager these functions do
 * nothing. */

#include "base/macros.h"

/* Sends "VARIABLE=VALUE", one per line, to the service manager. */
void service_notify(const char *format, ...) PRINTF_LIKE(1, 2);

/* Returns the first socket that the service manager passes to this process, or -1 if there is none. */
int service_listen_fd(void);

/* Returns the interval in which the service manager expects "WATCHDOG=1"; 0: no watchdog. */
uint64_t service_watchdog_usec(void);

/* Sends one journal entry of N fields "NAME=VALUE" and the program's name. Returns 0 or a negative errno. */
int service_journal_send(const char *const *fields, size_t n);
