/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The ledger on disk: /run/hugeplan/state.json. */

#include "host/root.h"
#include "promise/ledger.h"

/* Returns the ledger of this boot. If it is missing, broken or of another boot, a new one is returned; *RET_TEXT says
 * what is lost by that, or by the version of the file (NULL if nothing: the ledger was read, or this is the first start
 * in this boot). */
Ledger *state_load(const Root *root, Arena *arena, const char *boot_id, const char **ret_text);

/* Writes the ledger atomically; returns a negative errno on failure. */
int state_save(const Root *root, const Ledger *ledger);
