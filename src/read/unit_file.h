/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A systemd unit as its files describe it: the fragment and its drop-ins, of a template too, in the
 * order in which systemd reads them. What the database is started with stands there.
 *
 * Sources: systemd.unit(5) (search path, drop-ins, specifiers), systemd.syntax(7) (comments,
 * continuation lines), systemd.exec(5) (Environment=, EnvironmentFile=), systemd.service(5)
 * (command lines). Files only: nothing is asked of a running manager, so it works on a captured
 * host and before the manager has loaded the unit. */

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
        const char *name;          /* "postgresql@15-main.service"; what it is an alias of, if so */
        const char *fragment_path; /* NULL: there is no such unit */
        bool is_masked;
        VEC(UnitAssignment) assignments; /* in the order of reading */
} UnitFile;

/* Reads the unit NAME. Never fails: what cannot be read is not there, nor are lines that are not
 * UTF-8 or longer than 64 KiB. A masked unit has no assignments. */
UnitFile *unit_file_read(Arena *arena, const Sources *sources, const char *name);

/* What counts for a key that is set once: the last; NULL where it is not set, or was reset by an
 * empty value, or UNIT is NULL, as below. */
const UnitAssignment *unit_file_find(const UnitFile *unit, const char *section, const char *key);
const char *unit_file_value(const UnitFile *unit, const char *section, const char *key);

/* All values of a key that adds up (ExecStart=, Environment=), after the last empty one. */
typedef VEC(const UnitAssignment *) UnitAssignments;
UnitAssignments unit_file_list(Arena *arena, const UnitFile *unit, const char *section,
                               const char *key);

/* The environment that the service's processes get, from Environment= and EnvironmentFile= (which wins), each variable
 * once. */
Variables unit_file_variables(Arena *arena, const UnitFile *unit, const Sources *sources);

/* One of them; NULL: not set, or UNIT is NULL. *RET_ORIGIN ("FILE:LINE") may be NULL. */
const char *unit_file_environment(Arena *arena, const UnitFile *unit, const Sources *sources,
                                  const char *variable, const char **ret_origin);

/* A command line (the value of ExecStart=) taken apart: quotes and backslashes as in
 * systemd.service(5); the prefixes -@:+!| are taken off the first word, ${VAR} and $VAR are filled in
 * from the unit's environment ($VAR as words of its own where it stands alone). The program is the
 * first word; no words where a quote stays open, or there is more than 128 KiB. */
SourceNames unit_file_command(Arena *arena, const UnitFile *unit, const Sources *sources,
                              const char *command_line);

/* The same of its ExecStart=, the last of several; no words where it has none, or UNIT is NULL. */
SourceNames unit_file_start(Arena *arena, const UnitFile *unit, const Sources *sources);

/* Takes a word off *STRING as systemd does (extract_first_word()): whitespace parts words, quotes and
 * backslashes guard. NULL when there is none, or a quote stays open, which leaves *STRING.
 * *RET_IS_BARE: it had neither quotes nor backslashes. */
const char *unit_word_take(Arena *arena, const char **string, bool *ret_is_bare);

/* The names of units in the search path that PATTERN ("postgresql*.service") fits, sorted, each
 * once. Templates by a pattern of theirs only ("*@.service"): else those of their instances that some .wants or
 * .requires directory names. */
SourceNames unit_file_names(Arena *arena, const Sources *sources, const char *pattern);

/* Which units have others started: who it is, by the name of who is started, and of an instance by that of its
 * template, too. By .wants, .requires and .upholds directories, which enabled units are in, by lines such as Requires=,
 * and by timers, paths and sockets. What D-Bus, udev or a program starts is not among them. */
Index *unit_file_starters(Arena *arena, const Sources *sources);

/* Where the system's units are. */
extern const char *const unit_directories[];
extern const size_t n_unit_directories;
