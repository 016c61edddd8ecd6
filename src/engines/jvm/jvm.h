/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Options of a Java virtual machine from all their sources: files with one option per line (jvm.options), argument
 * files (@FILE), command lines, environment variables, and the scripts of products that are written in Java.
 *
 * Sources: Elasticsearch, "Set JVM options" (JvmOptionsParser); Cassandra's cassandra-env.sh, which takes the lines
 * that begin with "-"; java(1), "java Command-Line Argument Files"; the comments in the launcher's args.c. */

#include "engines/reader.h"
#include "read/shell_words.h"
#include "read/unit_file.h"

/* ---- options ---- */

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

/* ---- products that start Java by scripts of their own ---- */

typedef struct JvmProduct {
        const char *title;
        const char *unit;     /* the beginning of its units' names; NULL: anything */
        const char *programs; /* base names of the scripts that start it */
        /* Where it is installed, if the unit does not start its script: the variable's value, else HOME. */
        const char *home_variable, *home;
        /* Where its configuration is: the variable's value, else the first of these that exists. "@" is the directory
         * of the script. */
        const char *directory_variable, *directories;
        const char *options_files;   /* there; the first that exists counts; NULL: none */
        bool has_options_by_version; /* also jvm17-server.options and the like */
        /* Scripts that set variables, in their order after the script that the unit starts. Missing ones are skipped;
         * of several with the same base name the first is read. */
        const char *scripts;
        const char *before;    /* a variable whose options precede those of files; NULL: none */
        const char *variables; /* variables whose options the script gives to Java, in its order */
        const char *heap_variable; /* its value becomes -Xmx if no option gives that; NULL: none */
        /* It removes the virtual machine's own variables (JAVA_TOOL_OPTIONS). */
        bool is_shielded;
        const char *java_variable, *java; /* the Java that comes with it; NULL: none */
} JvmProduct;

/* Returns the product that UNIT starts, or NULL. *RET_PROGRAM is its script (absolute; NULL: not known), *RET_PLACE
 * the same, or its directory: "/usr/share/elasticsearch/bin/". */
const JvmProduct *jvm_product_of_unit(const UnitFile *unit, const char **ret_program,
                                      const char **ret_place);

/* Returns what is read of a variable of this name, for any product. */
Reads jvm_variable_reads(const char *name);

/* ---- scripts ---- */

/* Variables that shell scripts set plainly: setenv.sh, /etc/default/tomcat10, kafka-server-start.sh, cassandra-env.sh.
 * Scripts are not interpreted: a line NAME=VALUE counts outside of any block, or in a block for an empty NAME ("if [ -z
 * "$NAME" ]"); a sourced file counts if it is sourced outside of any block. Other assignments are recorded in
 * `conditional`. */
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
