/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The configuration directories of a host, read in systemd's order. */

#include "config/config.h"
#include "host/root.h"

/* The directories and files of a configuration, and their stamp from before they were read. */
typedef struct ConfigTrace {
        SourceNames paths;
        RootStamp stamp;
} ConfigTrace;

/* Returns the files in effect, in the order in which they are parsed: a file in an earlier directory replaces a file of
 * the same name in a later one, a link to /dev/null or an empty file masks, and the rest is sorted by name; the files
 * of NAME.conf.d/ likewise. A file that cannot be read is in the list with its errno. Missing directories are ignored;
 * those that cannot be listed are added to PROBLEMS. DRAFT, if not NULL, is a directory before all others: its files
 * are read as if they were in /etc/hugeplan.d. ONLY, if not NULL, selects the files of that name with or without a
 * number, such as "pg.conf" and "20-pg.conf" for "pg", and their extensions. The files that were read are added to
 * TRACE, if not NULL. */
ConfigFiles *config_dirs_read(const Root *root, Arena *arena, const char *draft, const char *only,
                              Diags *problems, ConfigTrace *trace);

/* Reads one file by its path, as `hugeplanctl check FILE` does. */
ConfigFiles *config_dirs_read_one(const Root *root, Arena *arena, const char *path);
