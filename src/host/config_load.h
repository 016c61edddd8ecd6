/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Loads a host's configuration: reads and parses its files, and checks the accounts that they name. */

#include "config/config.h"
#include "host/root.h"

/* Never fails: a file that cannot be read after several tries becomes one of the configuration's problems
 * (is_incomplete, fault). DRAFT: see config_dirs_read(). */
Config *config_load(const Root *root, Arena *arena, const char *draft);

/* Loads only the files called NAME, to find out quickly whether loading all is worthwhile: other files may describe an
 * instance of that name too, and have this one refused. Accounts are not checked. */
Config *config_load_called(const Root *root, Arena *arena, const char *draft, const char *name);

/* Returns whether config_load() would surely return the same as CONFIG, because no file or directory of CONFIG was
 * replaced or written. Returns false also if that is not certain, such as for a file that was changed just before it
 * was read. */
bool config_is_current(const Root *root, const Config *config);
