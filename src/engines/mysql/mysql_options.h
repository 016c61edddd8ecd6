/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Options of MariaDB and MySQL as their option files and command lines give them, and what the
 * servers make of their names and values.
 *
 * Source: my_default.c and my_getopt.c of both products; each rule was tried on mariadbd 10.11.19
 * (--print-defaults, --verbose --help). */

#include "engines/reader.h"

/* ---- files ---- */

typedef struct MysqlOption {
        const char *group;  /* "mysqld"; NULL: from a command line */
        const char *name;   /* as it is written: "loose-innodb_buffer_pool_size" */
        const char *value;  /* NULL: there is no "=" */
        const char *origin; /* "FILE:LINE" */
} MysqlOption;

typedef VEC(MysqlOption) MysqlOptions;

typedef struct MysqlFiles {
        MysqlOptions options; /* of all groups, in the order in which the servers take them */
        SourceNames groups;   /* that have lines; one may come again */
        SourceNames paths;    /* of the files read, in that order, too */
        Diags problems;       /* files that the servers skip: not there, or not to be opened */
} MysqlFiles;

/* Reads PATH (absolute) and what it includes behind what FILES has. A sentence with file and line where the servers
 * would refuse the file, or it is none: binary, too large, in a circle. That PATH itself cannot be opened is no error:
 * *RET_UNOPENED says why ("is not there"), else NULL. */
const char *mysql_files_read(Arena *arena, const Sources *sources, const char *path,
                             MysqlFiles *files, const char **ret_unopened);

/* ---- settings ---- */

typedef enum MysqlKind {
        MYSQL_NUMBER, /* digits and one of K M G T P E; the servers skip what is behind */
        MYSQL_SWITCH, /* becomes "ON" or "OFF" */
        MYSQL_TEXT,
} MysqlKind;

/* A setting that is looked for. */
typedef struct MysqlName {
        const char *name;     /* with "_" */
        const char *shortest; /* MariaDB takes unambiguous beginnings; NULL: the whole name only */
        MysqlKind kind;
        char letter;       /* of the short option, as in -h; 0: none */
        bool of_key_cache; /* also as CACHE.NAME */
} MysqlName;

typedef struct MysqlNames {
        const MysqlName *items;
        size_t n;
} MysqlNames;

/* Adds what OPTION sets under the name in NAMES and with the value that the server understands.
 * False: it is none of NAMES. */
bool mysql_option_set(Arena *arena, const MysqlOption *option, const MysqlNames *names,
                      Settings *settings);

/* What is read of an option that is written as GIVEN, or of a letter. */
Reads mysql_option_reads(const MysqlNames *names, const char *given);

/* The options among the N WORDS of a command line, without the program. NAMES tells which take the
 * next word as their value. */
MysqlOptions mysql_options_of_words(Arena *arena, const char *const *words, size_t n,
                                    const MysqlNames *names, const char *origin);
