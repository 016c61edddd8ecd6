/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Options of a Java virtual machine, from where they are written: files with one option to a line
 * (jvm.options), argument files (@FILE), command lines and environment variables.
 *
 * Sources: Elasticsearch, "Set JVM options" (JvmOptionsParser); Cassandra's cassandra-env.sh, which
 * takes the lines that begin with "-"; java(1), "java Command-Line Argument Files"; the comments in
 * the launcher's args.c. */

#include "engines/reader.h"

typedef struct JvmOption {
        const char *text;   /* "-Xmx31g" */
        const char *origin; /* "FILE:LINE" */
} JvmOption;

typedef VEC(JvmOption) JvmOptions;

/* One option to a line; "8-13:-XX:..." is for these major versions only. JAVA_MAJOR is 0 where the
 * version is not known: then it is taken for the newest, so that "14-:" counts and "8-13:" does not.
 * Other lines are noted in PROBLEMS. */
void jvm_options_read_lines(Arena *arena, const SourceText *text, const char *path,
                            uint64_t java_major, JvmOptions *ret, Diags *problems);

/* Words in quotes or separated by whitespace, with comments. Does not follow "@" within, as java does not. */
void jvm_options_read_arguments(Arena *arena, const SourceText *text, const char *path,
                                JvmOptions *ret);

/* A variable such as JAVA_OPTS, which a shell or the virtual machine takes apart at whitespace. */
void jvm_options_read_variable(Arena *arena, const char *value, const char *origin,
                               JvmOptions *ret);

/* The settings of the engine that OPTIONS give: Xmx, gc, UseLargePages... Later ones go behind
 * earlier ones, as for the virtual machine the last one counts. */
void jvm_options_settings(Arena *arena, const JvmOptions *options, Settings *ret);

/* "17.0.9" -> 17, "1.8.0_392" -> 8; 0 for what is none. */
uint64_t jvm_major_version(const char *version);

/* Whether a machine with these SETTINGS takes all of its huge pages at its start (engine_is_fixed()). */
bool jvm_is_fixed(const Settings *settings);

/* What is read of an option without what stands before it: "Xmx4g", "UseLargePages". */
Reads jvm_option_reads(const char *option);
