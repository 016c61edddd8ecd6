/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Configuration files of PostgreSQL (postgresql.conf, the files that it includes, postgresql.auto.conf), read by the
 * server's own grammar.
 *
 * Source: src/backend/utils/misc/guc-file.l and, from 16 on, conffiles.c. A file with an error keeps the server from
 * starting, so it gives no size either. The database's owner writes these files, and hugeplan reads them as root: the
 * text of other settings is never passed on, nor is a value that cannot be printed. */

#include "engines/reader.h"

/* Whether the caller wants the setting NAME; NULL: none is wanted. */
typedef bool PostgresqlWanted(const char *name);

/* Returns NULL if VALUE is printable UTF-8 of a plausible length; else what is wrong with VALUE. */
const char *postgresql_value_fault(const char *value);

/* Returns whether VALUE (may be NULL) is an absolute path. */
bool postgresql_is_path(const char *value);

/* Reads PATH (absolute) and the files that it includes, and adds the settings that IS_WANTED accepts to *SETTINGS, in
 * the order of the lines, with "FILE:LINE" as origin. Returns NULL, or a sentence with file and line. Sets
 * *RET_UNOPENED (may be NULL) to 0, or to the negative errno if PATH itself cannot be opened; then nothing is read, and
 * that is no error. Included files that the server skips are skipped. */
const char *postgresql_conf_read(Arena *arena, const Sources *sources, const char *path,
                                 PostgresqlWanted *is_wanted, Settings *settings,
                                 int *ret_unopened);
