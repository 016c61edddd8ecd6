/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Options of a Java virtual machine from all their sources: files with one option per line (jvm.options), argument
 * files (@FILE), command lines and environment variables.
 *
 * Sources: Elasticsearch, "Set JVM options" (JvmOptionsParser); Cassandra's cassandra-env.sh, which takes the lines
 * that begin with "-"; java(1), "java Command-Line Argument Files"; the comments in the launcher's args.c. */

#include "engines/reader.h"

typedef struct JvmOption {
        const char *text;   /* "-Xmx31g" */
        const char *origin; /* "FILE:LINE" */
} JvmOption;

typedef VEC(JvmOption) JvmOptions;

/* Reads one option per line; "8-13:-XX:..." applies to these major versions only. JAVA_MAJOR 0 (not known) counts as
 * the newest version, so that "14-:" applies and "8-13:" does not. Other lines are noted in PROBLEMS. */
void jvm_options_read_lines(Arena *arena, const SourceText *text, const char *path,
                            uint64_t java_major, JvmOptions *ret, Diags *problems);

/* Reads words in quotes or separated by whitespace, with comments. Like java, does not follow "@" inside the file. */
void jvm_options_read_arguments(Arena *arena, const SourceText *text, const char *path,
                                JvmOptions *ret);

/* Reads a variable such as JAVA_OPTS, which a shell or the virtual machine splits at whitespace. */
void jvm_options_read_variable(Arena *arena, const char *value, const char *origin,
                               JvmOptions *ret);

/* Adds the engine's settings in OPTIONS: Xmx, gc, UseLargePages... Later ones are added behind earlier ones: for the
 * virtual machine, too, the last one counts. */
void jvm_options_settings(Arena *arena, const JvmOptions *options, Settings *ret);

/* "17.0.9" -> 17, "1.8.0_392" -> 8; 0 if VERSION is no version. */
uint64_t jvm_major_version(const char *version);

/* Returns whether a virtual machine with SETTINGS takes all its huge pages at start (engine_is_fixed()). */
bool jvm_is_fixed(const Settings *settings);

/* Returns what is read of an option without its prefix: "Xmx4g", "UseLargePages". */
Reads jvm_option_reads(const char *option);
