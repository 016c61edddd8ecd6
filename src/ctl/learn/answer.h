/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How our units that find something out without being root say it to hugeplan-learn@.service, which keeps it
 * (verb_listen.c): their standard streams are one connection, made by systemd as root. By hand it is printed. */

#include "base/macros.h"

/* 0, or -EIO. */
int answer_say(const char *text);

/* Says that this was all, and waits until the other side, if there is one, has made use of it and closes the
 * connection; for TIMEOUT_USEC at most. */
void answer_wait_for_use(uint64_t timeout_usec);
