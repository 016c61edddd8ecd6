/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The observations of `verify` and `metrics`. */

#include "ctl/command.h"
#include "render/metrics/metrics.h"
#include "status/waste.h"

/* Observes the server of each instance of STATUS that reserves huge pages, or only that of the instance NAME; without
 * NAME also pages that belong to no instance. The result is in COMMAND's arena. */
Proofs observe(Command *command, const Status *status, const char *name);

/* Observes the servers only, with CONFIG as their configuration. */
ProofList prove_all(Command *command, const Status *status, const Config *config,
                    const Topology *topology);

/* Returns the metrics of `metrics`, in COMMAND's arena. */
Metrics metrics_now(Command *command);

/* Prints rows of JSON (stolen) with COLUMNS, "name|>pagesWanted": names of fields, with ">" if a table aligns the
 * column to the right. For scripts, so without abbreviations or color. As CSV (RFC 4180, but with plain line ends) or
 * as a table; unknown values are empty, or "-". A list is one cell: "orders sales", "0:541 1:540". */
void print_columns(const Command *command, json_t *rows, const char *columns);
