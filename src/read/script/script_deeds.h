/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Shell scripts, as far as they set files of the kernel: hugeadm, sysctl, echo into a file, also by tee.
 *
 * A script is read, never run. It is taken line by line, as if every condition held: variables that were
 * given a plain value, and functions with plain arguments, are filled in; what only a shell could find out
 * ($(...), loops, arithmetic) stays unknown, and a command that depends on it is told as unclear, never guessed.
 *
 * Sources: POSIX.1-2017, Shell Command Language 2.7, 2.9; hugeadm(8); sysctl(8). */

#include "read/script/shell.h"
#include "read/source.h"

typedef enum ScriptDoes {
        SCRIPT_WRITES_FILE, /* key: its path; may be a pattern */
        SCRIPT_SETS_SYSCTL, /* key: "vm.nr_hugepages" */
        SCRIPT_SETS_HUGEADM, /* key: "--pool-pages-min"; value: "2M:100", or NULL where it takes none */
        SCRIPT_IS_UNCLEAR, /* key: the command as it stands; it has to do with huge pages */
} ScriptDoes;

typedef struct ScriptDeed {
        ScriptDoes does;
        unsigned line;
        const char *key, *value;
} ScriptDeed;

typedef VEC(ScriptDeed) ScriptDeeds;

/* What TEXT does, in its order; VARIABLES (which may be NULL) are its environment, and LINE is the number of its
 * first line. Bounded, whatever it holds. */
ScriptDeeds script_deeds_read(Arena *arena, const SourceText *text, const Variables *variables,
                              unsigned line);
