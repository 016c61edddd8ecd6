/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Events for the journal, with fields that programs can search; plain lines elsewhere. */

#include "base/diag.h"
#include "status/status.h"

#include <syslog.h>

/* TEXT with the message identifier of KIND; INSTANCE may be NULL. LEVEL as for log_line(). */
void journal_event(int level, const char *kind, const char *instance, const char *text);

/* An instance's verdict, with its figures as fields. */
void journal_verdict(const StatusInstance *instance);

/* A problem, with the file and line it is about. */
void journal_diag(const Diag *diag);
