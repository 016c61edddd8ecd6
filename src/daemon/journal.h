/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Events for the journal, with fields that programs can search; plain lines elsewhere. */

#include "base/diag.h"
#include "status/history.h"
#include "status/status.h"

#include <syslog.h>

/* ENTRY, with the message identifier of its kind. */
void journal_entry(const HistoryEntry *entry);

/* An instance's verdict, with its figures as fields. */
void journal_verdict(const StatusInstance *instance);

/* A problem, with the file and line it is about. */
void journal_diag(const Diag *diag);
