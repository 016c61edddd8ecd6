/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Words as a shell takes them apart, for who reads what a shell is given and never runs it: quotes are taken off,
 * variables filled in, and what only a shell could find out ($(...), $1) stays unknown.
 *
 * Source: POSIX.1-2017, Shell Command Language 2.2, 2.5, 2.6. */

#include "read/source.h"

/* Stands in a word for what only a shell would know, and for a value that would make the word too long. */
#define SHELL_UNKNOWN "\001"

/* The word at *AT, which is moved to its end: a byte of ENDS outside of quotes, or the end of the text. "" where
 * nothing or only quotes stand there. A variable that is none of VARIABLES is empty; without VARIABLES (NULL) "$" is a
 * byte as any other. */
const char *shell_take_word(Arena *arena, const char **at, const char *ends,
                            const Variables *variables);

/* Of the name of a variable or function at AT; 0: there is none. */
size_t shell_name_length(const char *at);
