/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A systemd unit as its files describe it: the fragment and its drop-ins, of its template too, in the order in which
 * systemd reads them. They show how the database is started.
 *
 * Sources: systemd.unit(5) (search path, drop-ins, specifiers), systemd.syntax(7) (comments, continuation lines),
 * systemd.exec(5) (Environment=, EnvironmentFile=), systemd.service(5) (command lines). Only files are read, no manager
 * is asked, so that it works on a captured host and before the manager has loaded the unit. */

#include "base/index.h"
#include "read/source.h"

typedef struct UnitAssignment {
        const char *section; /* "Service" */
        const char *key;     /* "ExecStart" */
        const char *value; /* the specifiers %i %I %j %J %n %N %p %P %t %E %S %C %L are filled in */
        const char *file;
        unsigned line;
} UnitAssignment;

typedef struct UnitFile {
        const char *name;          /* "postgresql@15-main.service"; the target if it is an alias */
        const char *fragment_path; /* NULL: there is no such unit */
        bool is_masked;
        VEC(UnitAssignment) assignments; /* in the order of reading */
        Arena *arena;                    /* with everything that is taken from the unit */
        const Sources *sources;          /* which the unit was read from */
} UnitFile;

/* Reads the unit NAME. Never fails: unreadable files are treated as missing, and so are lines that are not UTF-8 or
 * longer than 64 KiB. A masked unit has no assignments. */
UnitFile *unit_file_read(Arena *arena, const Sources *sources, const char *name);

/* Reads TEXT, which is in PATH and has the syntax of units, without drop-ins: a quadlet. NAME has a suffix. */
UnitFile *unit_file_parse(Arena *arena, const char *name, const char *path, const SourceText *text);

/* Reads a configuration file of systemd's own programs, such as "logind.conf": the first of that name, then its
 * drop-ins. */
UnitFile *unit_file_read_config(Arena *arena, const Sources *sources, const char *name);

/* Return the last assignment of a key that takes one value; NULL if the key is not set, was reset by an empty value, or
 * UNIT is NULL. */
const UnitAssignment *unit_file_find(const UnitFile *unit, const char *section, const char *key);
const char *unit_file_value(const UnitFile *unit, const char *section, const char *key);

/* Returns all values of a key that accumulates (ExecStart=, Environment=) after the last empty one. */
typedef VEC(const UnitAssignment *) UnitAssignments;
UnitAssignments unit_file_list(const UnitFile *unit, const char *section, const char *key);

/* Returns the environment of the service's processes, from Environment= and EnvironmentFile= (which wins), each
 * variable once. */
Variables unit_file_variables(const UnitFile *unit);

/* Returns one variable; NULL: not set, or empty, or UNIT is NULL. *RET_ORIGIN ("FILE:LINE") may be NULL. */
const char *unit_file_environment(const UnitFile *unit, const char *variable,
                                  const char **ret_origin);

/* Splits a command line (the value of ExecStart=): quotes and backslashes as in systemd.service(5); the prefixes -@:+!|
 * are removed from the first word, ${VAR} and $VAR are substituted from the unit's environment ($VAR becomes separate
 * words if it is a word itself). The program is the first word; returns no words if a quote is not closed or there are
 * more than 128 KiB. */
SourceNames unit_file_command(const UnitFile *unit, const char *command_line);

/* Does the same for UNIT's last ExecStart=; no words if UNIT has none or is NULL. */
SourceNames unit_file_start(const UnitFile *unit);

/* Takes a word off *STRING like systemd's extract_first_word(): whitespace separates words, quotes and backslashes
 * protect it. Returns NULL if there is none, or if a quote is not closed, which leaves *STRING unchanged. *RET_IS_BARE:
 * the word had neither quotes nor backslashes. */
const char *unit_word_take(Arena *arena, const char **string, bool *ret_is_bare);

/* Returns the names of units in the search path that match PATTERN ("postgresql*.service"), sorted, each once.
 * Templates match only a pattern for templates ("*@.service"); otherwise their instances named in .wants, .requires or
 * .upholds directories match. */
SourceNames unit_file_names(Arena *arena, const Sources *sources, const char *pattern);

/* Returns the units that start others, indexed by the name of the started unit, and for an instance by its template's
 * name too. Considers .wants, .requires and .upholds directories, which list enabled units, lines such as Requires=,
 * and timers, paths and sockets; but not what D-Bus, udev or a program starts. */
Index *unit_file_starters(Arena *arena, const Sources *sources);

/* The search path of the system's units. */
extern const char *const unit_directories[];
extern const size_t n_unit_directories;
