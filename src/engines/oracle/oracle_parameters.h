/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Oracle's initialization parameters, from a text file (initSID.ora, "pfile") or from a server parameter file
 * ("spfile").
 *
 * Sources: Oracle Database Reference, "Initialization Parameter Files" (grammar, IFILE) and Administrator's Guide,
 * "Managing Initialization Parameters Using a Server Parameter File". The format of a server parameter file is not
 * documented; its reader's comment says what is known of the format. Nothing is ever written. */

#include "engines/parameters.h"
#include "engines/reader.h"

typedef struct OracleParameters {
        /* Named as written, SID.NAME, or NAME also for *.NAME, in the order of reading, included files at their place.
         * Values are without quotes, a list's first value, "" if there is none. */
        Settings list;
        const char *spfile; /* the server parameter file that was read; NULL: none */
} OracleParameters;

/* A parameter file, and what its text may refer to. */
typedef struct OracleFile {
        const char *path;
        const char *home; /* ORACLE_HOME, for "?"; NULL: the parent of the file's directory "dbs" */
        const char *sid;  /* for "@", and to skip other instances' parameters; NULL: not known */
} OracleFile;

/* Reads FILE and the files that it includes by IFILE= and SPFILE=, whose place in the file decides the order. Lines
 * that are no assignments are skipped and noted in PROBLEMS. Returns NULL, or a sentence with file, line and remedy: a
 * file is unreadable, binary, truncated, in ASM, or includes itself. */
const char *oracle_parameters_read(Arena *arena, const Sources *sources, const OracleFile *file,
                                   OracleParameters *ret, Diags *problems);

/* Returns the parameter in effect for the instance SID (NULL: not known): the last of its own, else the last for all
 * instances; NULL if there is none. */
const Setting *oracle_parameter_find(const OracleParameters *parameters, const char *sid,
                                     const char *name);

extern const ParameterTable oracle_parameter_table;

/* Returns the SIDs of settings named SID.NAME, in the order of the settings; a single NULL if there are none. */
SourceNames oracle_sids_of(Arena *arena, const Settings *settings);

/* Adds the text of a server parameter file, whose lines continue from one block to the next. */
void oracle_spfile_pieces(Arena *arena, const SourceText *file, Pieces *ret);
