/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How a unit starts a server of the MySQL family, which option files it reads, and how the servers interpret the names
 * and values of options there and on command lines.
 *
 * Source: my_default.c and my_getopt.c of both products; each rule was tried on mariadbd 10.11.19 (--print-defaults,
 * --verbose --help). */

#include "engines/parameters.h"
#include "engines/reader.h"
#include "read/unit_file.h"

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

/* ---- products and units ---- */

/* The differences between the products. All lists end with NULL. */
typedef struct MysqlProduct {
        const char *title;        /* also the beginning of its unit's Description= */
        const char *group;        /* the best group for the server's settings: "mariadbd" */
        const char *const *units; /* tried if the instance names none */
        const char *const *files; /* option files, in the order of reading */
        const char *const *groups;
        /* The packages' template, and the separator between a group's name and the instance's: "mariadb@NAME.service"
         * reads [mysqld.NAME]. */
        const char *template_prefix, *template_separator;
        const char *const *versioned_groups; /* [mysqld-10.11] for "mysqld" */
        const char *const *version_files;    /* in the data directory */
        MysqlNames names;                    /* settings of the size, and datadir and user */
        bool persists;                       /* it has mysqld-auto.cnf */
} MysqlProduct;

/* Returns the product of an engine of this family. */
const MysqlProduct *mysql_product(const Engine *engine);

/* What a unit passes to mariadbd or mysqld: the rest of its ExecStart=, also from a shell's script, as in the units of
 * MariaDB 10.11 and later. */
typedef struct MysqlCommand {
        bool is_found;         /* false: no ExecStart= names a server */
        SourceNames arguments; /* without the program */
        const char *origin;    /* "FILE:LINE" */
} MysqlCommand;

typedef struct MysqlStart {
        Arena *arena;
        const MysqlProduct *product;
        const EngineTarget *target;
        const Sources *sources;
        const UnitFile *unit; /* NULL: none */
        MysqlCommand command;
        MysqlFiles files;         /* set by mysql_start_read_files() */
        const char *group_suffix; /* "": none */
        const char *user;         /* its ~/.my.cnf is read; NULL: not known */
} MysqlStart;

/* Reads TARGET's unit, or the product's if TARGET names none. The result refers to the arguments. */
MysqlStart mysql_start_read(Arena *arena, const MysqlProduct *product, const EngineTarget *target,
                            const Sources *sources);

/* Reads the option files that this server reads. Returns NULL or a sentence. */
const char *mysql_start_read_files(MysqlStart *start);

/* For the readers: see EngineReader. */
void mysql_add_units(const Engine *engine, Arena *arena, const Sources *sources,
                     SourceNames *units);
const char *mysql_find_absent(const Engine *engine, Arena *arena, const EngineTarget *target,
                              const Sources *sources, bool has_disks);

/* ---- the formulas ---- */

/* Up to 8.0.26 os_mem_alloc_large() of os0proc.cc makes each chunk a System V segment; later large_page_alloc-linux.h
 * makes it a mapping. */
#define MYSQL_MAPS_SINCE VERSION(8, 0, 27)

/* Refuses versions whose key buffers take segments, too. WHO is "MySQL up to 5.7". */
static inline const char *refuse_segments(Arena *arena, const Setting *version, const char *who) {
        return setting_refuse(arena, version,
                              "%s takes System V segments, which this rule does not support; "
                              "write SharedMemory=sysv and Pages=: for each chunk of 128M 66 "
                              "pages of 2M, and the key buffer",
                              who);
}
