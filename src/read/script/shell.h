/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Words of shell scripts, for who reads scripts and never runs them: quotes are taken off, variables filled in, and
 * what only a shell could find out ($(...), arithmetic) stays unknown. What a script does with huge pages is found
 * by read/script/script_deeds.h, which variables it sets by engines/jvm/jvm_script.h.
 *
 * Source: POSIX.1-2017, Shell Command Language 2.2, 2.3, 2.5, 2.6. */

#include "base/text.h"
#include "read/source.h"

/* Stands in a word for what only a shell would know. */
#define SHELL_UNKNOWN "\001"

/* The next line with those that go on from it, allocated in ARENA: a backslash takes its end, or, where QUOTES_GO_ON, a
 * quote stays open. NULL behind the last. *RET_NUMBER is that of the first of them. */
const char *shell_take_line(Arena *arena, SourceLines *lines, bool quotes_go_on,
                            unsigned *ret_number);

/* How words are taken. */
typedef struct ShellWords {
        Arena *arena;
        const char *ends; /* the bytes that end a word, outside of quotes */
        size_t bytes_max; /* of a word: a variable that would make it longer is unknown */
        /* The value of the variable NAME, or of the argument "1" to "9"; MORE is what stands behind the name in
         * braces, ":-3". NULL: not known. */
        const char *(*value)(void *userdata, const char *name, const char *more);
        void *userdata;
} ShellWords;

/* The word at *AT, which is moved behind it, allocated in the arena; "" where nothing or only quotes stand there. */
const char *shell_take_word(const ShellWords *words, const char **at);

/* Whether all of WORD is known; nothing is of NULL. */
bool shell_is_known(const char *word);

/* Of the name of a variable or function at AT; 0: there is none. */
size_t shell_name_length(const char *at);
