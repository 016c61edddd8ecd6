/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reads the events that the daemon has logged to the journal. */

#include "ctl/command.h"
#include "status/history.h"

/* Returns the events of this boot on the host below COMMAND's root, in COMMAND's arena. */
const HistoryEntries *journal_read(Command *command);

/* Returns local time, "2026-12-31 23:59:59"; "-" if it cannot be formatted. */
const char *journal_format_moment(Arena *arena, uint64_t usec);
