/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Variables that shell scripts set plainly: setenv.sh, /etc/default/tomcat10, kafka-server-start.sh, cassandra-env.sh.
 * Scripts are not interpreted: a line NAME=VALUE counts where it stands outside of any block, or in one that is for
 * where NAME is empty ("if [ -z "$NAME" ]"), and so do files that are sourced outside of any block. What else sets a
 * variable is noted, to be looked at. */

#include "read/shell_words.h"

typedef struct JvmScript {
        Arena *arena;
        const Sources *sources;
        Variables variables; /* at first those that the scripts are given */
        /* What is set under conditions that only the shell knows, with nothing in place of variables. */
        Variables conditional;
        unsigned n_files, n_assignments;
        bool is_cut; /* there is more than was read */
} JvmScript;

void jvm_script_set(JvmScript *script, const Variable *variable);

/* What is not set is empty, as for a shell; so never NULL. */
const Variable *jvm_script_find(const JvmScript *script, const char *name);

/* Adds what the file PATH sets. 0, or the negative errno of reading it. */
int jvm_script_read(JvmScript *script, const char *path);
