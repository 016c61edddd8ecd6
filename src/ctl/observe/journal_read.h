/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reads back what the daemon has written into the journal. */

#include "ctl/command.h"
#include "status/history.h"

/* Sets *RET to the events of this boot, the oldest first, in COMMAND's arena: those of the host below its root. Returns
 * NULL, or why nothing can be said about what happened. */
const char *journal_read(Command *command, HistoryEntries *ret);

/* Local time: "2026-12-31 23:59:59"; "-" if it cannot be formatted. */
const char *journal_format_moment(Arena *arena, uint64_t usec);
