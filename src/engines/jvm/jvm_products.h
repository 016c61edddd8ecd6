/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Products that start Java by scripts of their own: where those have the virtual machine's options. */

#include "engines/reader.h"
#include "read/unit_file.h"

typedef struct JvmProduct {
        const char *title;
        const char *unit;     /* what its units' names begin with; NULL: anything */
        const char *programs; /* the base names of the scripts that start it */
        /* Where it is installed, where the unit does not start its script: what the variable says, else HOME. */
        const char *home_variable, *home;
        /* Where its configuration is: what the variable says, else the first of these that is there. "@" stands for the
         * directory of the script. */
        const char *directory_variable, *directories;
        const char *options_files;   /* in it, the first that is there counts; NULL: none */
        bool has_options_by_version; /* jvm17-server.options and the like besides */
        /* Scripts that set variables, as far as they are there, in their order after the one that the unit starts; of
         * one name the first. */
        const char *scripts;
        const char *before;    /* a variable whose options go before those of files; NULL: none */
        const char *variables; /* those whose options the script gives to Java, in its order */
        const char *heap_variable; /* becomes -Xmx where no option is; NULL: none */
        /* It sets the virtual machine's own variables aside (JAVA_TOOL_OPTIONS). */
        bool is_shielded;
        const char *java_variable, *java; /* the Java that comes with it; NULL: none does */
} JvmProduct;

typedef struct JvmStart {
        const JvmProduct *product; /* NULL: none of them */
        const char *program;       /* the script, absolute; NULL: not known */
        const char *place;         /* the same, or where it is: "/usr/share/elasticsearch/bin/" */
} JvmStart;

JvmStart jvm_start_of_unit(Arena *arena, const UnitFile *unit, const Sources *sources);

/* What is read of a variable of this name, of any product's. */
Reads jvm_variable_reads(const char *name);
