/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What `verify` and `metrics` look at. */

#include "ctl/command.h"
#include "status/waste.h"

/* Looks at the server of each instance of STATUS that reserves huge pages, or of the one called NAME, which is
 * one of them; without NAME also at what is nobody's. CONFIG is what the files say. All in COMMAND's arena. */
Proofs observe(Command *command, const Status *status, const Config *config, const char *name);
