/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Options of MariaDB and MySQL in option files and on command lines, and how the servers interpret their names and
 * values.
 *
 * Source: my_default.c and my_getopt.c of both products; each rule was tried on mariadbd 10.11.19 (--print-defaults,
 * --verbose --help). */

#include "engines/reader.h"

/* ---- files ---- */

typedef struct MysqlOption {
        const char *group;  /* "mysqld"; NULL: on a command line */
        const char *name;   /* as written: "loose-innodb_buffer_pool_size" */
        const char *value;  /* NULL: without "=" */
        const char *origin; /* "FILE:LINE" */
} MysqlOption;

typedef VEC(MysqlOption) MysqlOptions;

typedef struct MysqlFiles {
        MysqlOptions options; /* of all groups, in the servers' order of reading */
        SourceNames groups;   /* with options; a group may occur more than once */
        SourceNames paths;    /* of the files read, in the same order */
        Diags problems;       /* files that the servers skip: missing, or cannot be opened */
} MysqlFiles;

/* Reads PATH (absolute) and the files that it includes, and adds to FILES. Returns a sentence with file and line if the
 * servers would refuse the file, or if it is no option file: binary, too large, in a circle. If PATH itself cannot be
 * opened, that is no error: *RET_UNOPENED says why ("is not there"); else it is NULL. */
const char *mysql_files_read(Arena *arena, const Sources *sources, const char *path,
                             MysqlFiles *files, const char **ret_unopened);

/* ---- settings ---- */

typedef enum MysqlKind {
        MYSQL_NUMBER, /* digits and one of K M G T P E; the servers skip the rest */
        MYSQL_SWITCH, /* becomes "ON" or "OFF" */
        MYSQL_TEXT,
} MysqlKind;

/* A setting that is searched for. */
typedef struct MysqlName {
        const char *name;     /* with "_" */
        const char *shortest; /* MariaDB accepts unambiguous prefixes; NULL: the whole name only */
        MysqlKind kind;
        char letter;       /* of the short option, such as -h; 0: none */
        bool of_key_cache; /* also valid as CACHE.NAME */
} MysqlName;

typedef struct MysqlNames {
        const MysqlName *items;
        size_t n;
} MysqlNames;

/* Adds the setting of OPTION, with its name in NAMES and the value as the server interprets it. Returns false if it is
 * not in NAMES. */
bool mysql_option_set(Arena *arena, const MysqlOption *option, const MysqlNames *names,
                      Settings *settings);

/* Returns what is read of an option written as GIVEN, or of an option's letter. */
Reads mysql_option_reads(const MysqlNames *names, const char *given);

/* Returns the options among the N WORDS of a command line without its program. NAMES tells which options take the next
 * word as their value. */
MysqlOptions mysql_options_of_words(Arena *arena, const char *const *words, size_t n,
                                    const MysqlNames *names, const char *origin);
