/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Variables that shell scripts set plainly: setenv.sh, /etc/default/tomcat10, kafka-server-start.sh, cassandra-env.sh.
 * Scripts are not interpreted: a line NAME=VALUE counts outside of any block, or in a block for an empty NAME ("if [ -z
 * "$NAME" ]"); a sourced file counts if it is sourced outside of any block. Other assignments are recorded in
 * `conditional`. */

#include "read/shell_words.h"

typedef struct JvmScript {
        Arena *arena;
        const Sources *sources;
        Variables variables; /* initially those passed to the scripts */
        /* Assignments under other conditions; variables in their values count as empty. */
        Variables conditional;
        unsigned n_files, n_assignments;
        bool is_cut; /* not everything was read */
} JvmScript;

void jvm_script_set(JvmScript *script, const Variable *variable);

/* Never NULL: as in a shell, a variable that is not set is empty. */
const Variable *jvm_script_find(const JvmScript *script, const char *name);

/* Adds the variables that the file PATH sets. Returns 0, or the negative errno of reading it. */
int jvm_script_read(JvmScript *script, const char *path);
