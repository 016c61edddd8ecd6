/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The configuration directories of a host, read in systemd's order. */

#include "config/config.h"
#include "host/root.h"

/* The directories and files that a configuration was read from, and a stamp of them from before that. */
typedef struct ConfigTrace {
        SourceNames paths;
        RootStamp stamp;
} ConfigTrace;

/* All files that count, in the order in which they are to be read: a file in an earlier directory
 * replaces one of the same name in a later one, a link to /dev/null or an empty file masks, the
 * rest is sorted by name; the files of NAME.conf.d/ likewise. A file that cannot be read is in the
 * list with its errno. Directories that are not there are no mistake; those that cannot be listed
 * go to PROBLEMS. DRAFT, if not NULL, is a directory that comes before all others: what would count
 * if its files were put into /etc/hugeplan.d. ONLY, if not NULL: of all files those that are called so, as "pg.conf" and
 * "20-pg.conf" are for "pg", and what extends them. What is read is added to TRACE, if not NULL. */
ConfigFiles *config_dirs_read(const Root *root, Arena *arena, const char *draft, const char *only,
                              Diags *problems, ConfigTrace *trace);

/* One file by its path, as `hugeplanctl check FILE` reads it. */
ConfigFiles *config_dirs_read_one(const Root *root, Arena *arena, const char *path);
