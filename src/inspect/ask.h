/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Asks a database's own program, as the owner of the database.
 *
 * The one place where hugeplan runs a program of others. It has no shell, no rights beyond the
 * owner's and no way to get any (PR_SET_NO_NEW_PRIVS), an environment of three variables, nothing
 * on standard input and no open files; it may take so long and print so much, and is killed with
 * all it has started in its session. prctl(2), capabilities(7). */

#include "engines/reader.h"
#include "host/root.h"

/* Ample: PostgreSQL takes 20 ms. */
#define ASK_TIMEOUT_USEC     (10 * USEC_PER_SEC)
#define ASK_OUTPUT_BYTES_MAX ((size_t) 64 * 1024)

/* Runs QUESTION's program on the running host (never below another root) and fills *RET_OUTPUT with
 * what it printed, which strangers may have written; or returns a sentence, printable and short, on
 * why there is no answer. CONFIG_FILE (NULL: none) is what the program is made to read: neither it
 * nor the program may be open to anybody but root and the user who runs it, else whoever can write
 * them could borrow that user's rights. TIMEOUT_USEC is for the whole. */
const char *ask(const Root *root, Arena *arena, const Question *question, const char *config_file,
                uint64_t timeout_usec, char **ret_output);
