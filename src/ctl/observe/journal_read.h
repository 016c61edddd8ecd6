/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reads back what the daemon has written into the journal. */

#include "ctl/command.h"
#include "status/history.h"

/* The events of this boot, in COMMAND's arena: those of the host below its root. */
const HistoryEntries *journal_read(Command *command);

/* Local time: "2026-12-31 23:59:59"; "-" if it cannot be formatted. */
const char *journal_format_moment(Arena *arena, uint64_t usec);
