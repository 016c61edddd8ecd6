/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Splits text into words as a shell does, without running one: quotes are removed, variables are substituted, and what
 * only a shell can compute ($(...), $1) is marked as unknown.
 *
 * Source: POSIX.1-2017, Shell Command Language 2.2, 2.5, 2.6. */

#include "read/source.h"

/* Replaces, in a word, what only a shell can compute, and a value that would make the word too long. */
#define SHELL_UNKNOWN "\001"

/* Returns the word at *AT, and moves *AT to its end: a byte of ENDS outside of quotes, or the end of the text. The word
 * is "" if there is nothing or only quotes. A variable that is not in VARIABLES is empty; if VARIABLES is NULL, "$" is
 * an ordinary byte. */
const char *shell_take_word(Arena *arena, const char **at, const char *ends,
                            const Variables *variables);

/* Returns the length of the variable or function name at AT; 0: there is none. */
size_t shell_name_length(const char *at);
