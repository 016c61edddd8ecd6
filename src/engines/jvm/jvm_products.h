/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Products that start Java by scripts of their own, and where these have the virtual machine's options. */

#include "engines/reader.h"
#include "read/unit_file.h"

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

typedef struct JvmStart {
        const JvmProduct *product; /* NULL: no known product */
        const char *program;       /* the script, absolute; NULL: not known */
        const char *place;         /* it, or its directory: "/usr/share/elasticsearch/bin/" */
} JvmStart;

JvmStart jvm_start_of_unit(Arena *arena, const UnitFile *unit, const Sources *sources);

/* Returns what is read of a variable of this name, for any product. */
Reads jvm_variable_reads(const char *name);
