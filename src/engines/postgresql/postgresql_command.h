/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Command lines of PostgreSQL: what a server is, or was, started with besides its files.
 *
 * Sources: PostmasterMain() (options), CreateOptsFile() (postmaster.opts) and pg_ctl's manual page.
 * Patroni passes max_connections and its kin this way, Debian's pg_ctlcluster the file's name. */

#include "engines/formula.h"
#include "engines/postgresql/postgresql_conf.h"
#include "read/unit_file.h"

typedef struct PostgresqlCommand {
        const char *program;   /* the postgres of this command line; NULL: it does not tell */
        const char *directory; /* -D; NULL: not given */
        bool is_server;        /* the server itself, so that there are no options but these */
        Settings settings;     /* those of interest; later ones win */
} PostgresqlCommand;

/* What PostgreSQL's programs among the ExecStart= of UNIT are given: postgres and postmaster, or the
 * options that pg_ctl and pg_ctlcluster pass on. Returns NULL or a sentence. */
const char *postgresql_command_of_unit(Arena *arena, const UnitFile *unit, const Sources *sources,
                                       PostgresqlWanted *is_wanted, PostgresqlCommand *ret);

/* The last command line, from the file postmaster.opts. Returns NULL or a sentence; where there is no
 * such file, there was none. */
const char *postgresql_command_of_last_start(Arena *arena, const Sources *sources, const char *path,
                                             PostgresqlWanted *is_wanted, PostgresqlCommand *ret);

/* Adds the server's options in LINE, words as a shell takes them apart, to COMMAND. */
const char *postgresql_command_add(Arena *arena, const char *line, const char *origin,
                                   PostgresqlWanted *is_wanted, PostgresqlCommand *command);
