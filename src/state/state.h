/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The ledger on disk: /run/hugeplan/state.json. */

#include "host/root.h"
#include "promise/ledger.h"

/* The ledger of this boot. When there is none, or it is broken or of another boot, a new one is
 * made; *ret_text says what is lost by that, or by the version of the one that was read (NULL where nothing is: it was
 * read, or this is the first start in this boot). */
Ledger *state_load(const Root *root, Arena *arena, const char *boot_id, const char **ret_text);

/* Writes it atomically; negative errno. */
int state_save(const Root *root, const Ledger *ledger);
