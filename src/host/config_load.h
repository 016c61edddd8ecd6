/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The configuration of a host: its files, parsed, and held against the accounts it names. */

#include "config/config.h"
#include "host/root.h"

/* Never fails; what could not be read, though it was tried again, is among the configuration's problems
 * (is_incomplete, fault). DRAFT: see
 * config_dirs_read(). */
Config *config_load(const Root *root, Arena *arena, const char *draft);

/* Of its files those that are called NAME, for who wants to know in a moment whether reading all is worth while: others
 * may describe an instance of that name, too, and refuse this one. Nothing is held against accounts. */
Config *config_load_called(const Root *root, Arena *arena, const char *draft, const char *name);

/* Whether CONFIG, as config_load() has made it, is surely what it would make now: nothing that it was read from is
 * another by now, or was written to. False also where that cannot be told, as of what was changed just before it
 * was read. */
bool config_is_current(const Root *root, const Config *config);
