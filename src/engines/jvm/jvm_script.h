/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Variables that shell scripts set by plain assignments: setenv.sh, /etc/default/tomcat10, kafka-server-start.sh,
 * cassandra-env.sh. Read as far as they are plain: NAME=VALUE, with other variables in it, files that are sourced, and
 * what is set where nothing was ("if [ -z "$NAME" ]"). What is computed, or hangs on another condition, is not guessed.
 *
 * Source: POSIX.1-2017, Shell Command Language. */

#include "read/script/shell.h"
#include "read/unit_file.h"

typedef struct JvmScript {
        Arena *arena;
        const Sources *sources;
        const UnitFile *unit; /* whose environment it has; NULL: none */
        Variables variables;
        /* Assignments under conditions that only the shell knows, with nothing in place of variables. */
        Variables conditional;
        unsigned n_files;
        size_t bytes; /* of all values so far */
        bool is_cut;  /* there is more than was read */
} JvmScript;

void jvm_script_set(JvmScript *script, const char *name, const char *value, const char *origin);

/* What is not set is empty, as for a shell; so never NULL. */
const Variable *jvm_script_find(JvmScript *script, const char *name);

/* TEXT as in double quotes. */
const char *jvm_script_expand(JvmScript *script, const char *text);

/* Adds what the file PATH sets. 0, or the negative errno of reading it. */
int jvm_script_read(JvmScript *script, const char *path);
