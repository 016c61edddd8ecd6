/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The observations of `verify` and `metrics`, and the events that the daemon has logged to the journal. */

#include "ctl/command.h"
#include "status/history.h"
#include "status/waste.h"

/* Observes the server of each instance of STATUS that reserves huge pages, or only that of the instance NAME; without
 * NAME also pages that belong to no instance. The result is in COMMAND's arena. */
Proofs observe(Command *command, const Status *status, const char *name);

/* Observes the servers only, with CONFIG as their configuration. */
ProofList prove_all(Command *command, const Status *status, const char *name, const Config *config,
                    const Topology *topology);

/* Returns the events of this boot on the host below COMMAND's root, in COMMAND's arena. */
const HistoryEntries *journal_read(Command *command);

/* Returns local time, "2026-12-31 23:59:59"; "-" if it cannot be formatted. */
const char *journal_format_moment(Arena *arena, uint64_t usec);
