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

/* Returns whether no file or directory of CONFIG was replaced or written, so that config_load() would return the same.
 * False if that is not certain, as for a file that was changed just before it was read. */
bool config_is_current(const Root *root, const Config *config);

/* ---- the configuration directories of a host, read in systemd's order (config_dirs.c) ---- */

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
 * TRACE, if not NULL. SCRATCH gets the files' contents and names, which are of no use after config_parse(). */
ConfigFiles *config_dirs_read(const Root *root, Arena *arena, Arena *scratch, const char *draft,
                              const char *only, Diags *problems, ConfigTrace *trace);

/* Reads one file by its path, as `hugeplanctl check FILE` does. */
ConfigFiles *config_dirs_read_one(const Root *root, Arena *arena, const char *path);
