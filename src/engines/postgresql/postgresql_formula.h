/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What PostgreSQL's formula and the reader of its files share. */

#include "engines/parameters.h"

extern const ParameterTable postgresql_parameters;

/* False: with SETTINGS the server would take no pages of this size. Where one of them is wrong, that is not
 * known. */
bool postgresql_takes_pages(Arena *arena, const Settings *settings, uint64_t page_size_bytes);

/* Whether the setting NAME has a number, and VALUE is more than OTHER. Wrong values are neither. */
bool postgresql_is_more(const char *name, const char *value, const char *other);

/* As shared_buffers is written: "128GB", or a number of blocks. */
int postgresql_parse_blocks(const char *value, uint64_t *ret_bytes);

/* "16", "9.6". */
bool postgresql_is_version(const char *text);

/* The version in the name of a unit or in a path, a number behind the product's name: "/var/lib/pgsql/16/data",
 * "postgresql-16.service". NULL: there is none. */
const char *postgresql_version_in(Arena *arena, const char *text);
