/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Asks a database's own program, as the owner of the database.
 *
 * The one place where hugeplan runs a program of others. The program has no shell, no rights beyond the owner's and no
 * way to get any (PR_SET_NO_NEW_PRIVS), an environment of three variables, nothing on standard input and no open files;
 * its time and output are limited, and it is killed with all processes of its session. prctl(2), capabilities(7). */

#include "engines/reader.h"
#include "host/root.h"

/* Far above the 20 ms that PostgreSQL takes. */
#define ASK_TIMEOUT_USEC     (10 * USEC_PER_SEC)
#define ASK_OUTPUT_BYTES_MAX ((size_t) 64 * 1024)

/* Runs QUESTION's program on the running host (never below another root). Sets *RET_OUTPUT to the program's output,
 * which is untrusted, and returns NULL; or returns a short, printable sentence on why there is no answer. The program
 * reads CONFIG_FILE (NULL: none). Only root and the user who runs the program may be able to write the program and
 * CONFIG_FILE, because any other writer could act with that user's rights. TIMEOUT_USEC is for the whole call. */
const char *ask(const Root *root, Arena *arena, const Question *question, const char *config_file,
                uint64_t timeout_usec, char **ret_output);
