/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The configuration directories of a host, read in systemd's order. */

#include "config/config.h"
#include "host/root.h"

/* All files that count, in the order in which they are to be read: a file in an earlier directory
 * replaces one of the same name in a later one, a link to /dev/null or an empty file masks, the
 * rest is sorted by name; the files of NAME.conf.d/ likewise. A file that cannot be read is in the
 * list with its errno. Directories that are not there are no mistake; those that cannot be listed
 * go to PROBLEMS. DRAFT, if not NULL, is a directory that comes before all others: what would count
 * if its files were put into /etc/hugeplan.d. */
ConfigFiles *config_dirs_read(const Root *root, Arena *arena, const char *draft, Diags *problems);

/* The directories there are or may be, and all files and directories in them by which the configuration may
 * change: to tell whether it has to be read again. */
Names config_dirs_list(const Root *root, Arena *arena);

/* One file by its path, as `hugeplanctl check FILE` reads it. */
ConfigFiles *config_dirs_read_one(const Root *root, Arena *arena, const char *path);
