/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What `verify` and `metrics` look at. */

#include "ctl/command.h"
#include "render/metrics/metrics.h"
#include "status/waste.h"

/* Looks at the server of each instance of STATUS that reserves huge pages, or of the one called NAME, which is
 * one of them; without NAME also at what is nobody's. All in COMMAND's arena. */
Proofs observe(Command *command, const Status *status, const char *name);

/* Looks at the servers alone, as CONFIG describes them. */
ProofList prove_all(Command *command, const Status *status, const Config *config,
                    const Topology *topology);

/* What `metrics` says, in COMMAND's arena. */
Metrics metrics_now(Command *command);

/* Prints rows of JSON (stolen) as the columns that are named: "name|>pagesWanted", the names of fields, with ">" where
 * a table has them to the right. For scripts: nothing is abbreviated, nothing is coloured. As CSV (RFC 4180, with plain
 * line ends) or as a table; what is not known is empty, or "-". Lists are one cell: "orders sales", "0:541 1:540". */
void print_columns(const Command *command, json_t *rows, const char *columns);
