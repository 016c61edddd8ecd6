/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Oracle's initialization parameters, from a text file (initSID.ora, "pfile") or from a server
 * parameter file ("spfile").
 *
 * Sources: Oracle Database Reference, "Initialization Parameter Files" (grammar, IFILE) and
 * Administrator's Guide, "Managing Initialization Parameters Using a Server Parameter File". The
 * format of a server parameter file is not documented; what is known of it stands beside its reader.
 * Nothing is ever written. */

#include "engines/reader.h"

#include "base/diag.h"

typedef struct OracleParameter {
        const char *sid;   /* of SID.NAME; NULL: of all instances (*.NAME, or NAME alone) */
        const char *name;  /* as written: Oracle does not mind the case */
        const char *value; /* without quotes; of a list the first; "" where there is none */
        const char *origin;
} OracleParameter;

typedef struct OracleParameters {
        VEC(OracleParameter) list; /* in the order of reading, included files in their place */
        const char *spfile;        /* the server parameter file that was read; NULL: none */
} OracleParameters;

/* What a file's own words may refer to. */
typedef struct OracleFile {
        const char *path;
        const char *home; /* ORACLE_HOME, for "?"; NULL: what contains the file's directory "dbs" */
        const char *sid;  /* for "@", and for what only one instance includes; NULL: not known */
} OracleFile;

/* Reads FILE and what it includes by IFILE= and SPFILE=, whose place in the file decides what goes
 * before what. Lines that are no assignments are passed over and noted in PROBLEMS. Returns NULL, or
 * a sentence with file and line and the remedy: unreadable, binary, cut off, in ASM, in a circle. */
const char *oracle_parameters_read(Arena *arena, const Sources *sources, const OracleFile *file,
                                   OracleParameters *ret, Diags *problems);

/* The parameter that counts for the instance SID (NULL: not known): the last of its own, else the
 * last of all instances; NULL where there is none. */
const OracleParameter *oracle_parameter_find(const OracleParameters *parameters, const char *sid,
                                             const char *name);

/* Of a server parameter file: its text, of which lines run on from one block into the next. */
void oracle_spfile_pieces(Arena *arena, const SourceText *file, Pieces *ret);
