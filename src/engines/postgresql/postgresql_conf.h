/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Configuration files of PostgreSQL (postgresql.conf, what it includes, postgresql.auto.conf), read
 * by the server's own grammar.
 *
 * Source: src/backend/utils/misc/guc-file.l and, from 16 on, conffiles.c. A file in which the server
 * finds an error keeps it from starting, so that no size can be told from it either. The owner of
 * the database writes these files and this runs as root: what stands in lines that are not of
 * interest goes nowhere, and neither does a value that could not be printed. */

#include "engines/reader.h"

/* Whether the setting NAME is of interest. */
typedef bool PostgresqlWanted(const char *name);

/* NULL where VALUE can be a value: printable UTF-8, and not longer than a line should be. Else what
 * is wrong with it. */
const char *postgresql_value_fault(const char *value);

/* Whether VALUE, which may be NULL, is an absolute path. */
bool postgresql_is_path(const char *value);

/* Reads PATH (absolute) and all it includes, and adds the settings that IS_WANTED takes to *SETTINGS,
 * in the order of the lines, with "FILE:LINE" as origin. Returns NULL or a sentence with file and
 * line. *RET_UNOPENED (may be NULL): 0, or the errno with which PATH itself cannot be opened; nothing is
 * read then, and that is no fault. What is included and what the server skips is skipped. */
const char *postgresql_conf_read(Arena *arena, const Sources *sources, const char *path,
                                 PostgresqlWanted *is_wanted, Settings *settings,
                                 int *ret_unopened);
