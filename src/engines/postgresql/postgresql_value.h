/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Values, wherever PostgreSQL has them from. */

#include "base/arena.h"

/* Whether the setting NAME is of interest. */
typedef bool PostgresqlWanted(const char *name);

/* NULL where VALUE can be a value: printable UTF-8, and not longer than a line should be. Else what
 * is wrong with it. */
const char *postgresql_value_fault(const char *value);

/* Whether VALUE, which may be NULL, is an absolute path. */
bool postgresql_is_path(const char *value);

/* "cannot be read: ..." for the negative errno of reading a file. */
const char *postgresql_read_fault(Arena *arena, int error);
