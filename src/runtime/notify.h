/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A word to the service manager that has started this program (sd_notify(3)), for those that do
 * without its library. */

#include "base/macros.h"

/* Asks for USEC from now on, where a time limit would be over sooner. Without a service manager, or
 * one that does not listen to this process, nothing happens. */
void notify_extend_timeout(uint64_t usec);

/* Says that the start is done, where Type=notify has others wait for it. Likewise. */
void notify_ready(void);
