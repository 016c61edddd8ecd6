/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which Oracle instances a host has, where the parameters of each are, and which unit starts it.
 *
 * Sources: the comment in /etc/oratab itself and dbstart; Oracle Database Administrator's Guide, "About Initialization
 * Parameter Files and Startup"; Installation Guide, "About Read-Only Oracle Homes" (orabasetab). */

#include "engines/finder.h"
#include "engines/parameters.h"
#include "engines/reader.h"

typedef struct OracleInstance {
        const char *sid;
        const char *home;   /* ORACLE_HOME, without a "/" at the end */
        const char *origin; /* "/etc/oratab:7" */
        bool is_started;    /* by dbstart: its third field is Y, or W (if ASM runs) */
} OracleInstance;

typedef VEC(OracleInstance) OracleInstances;

/* Returns the entries of /etc/oratab (if it does not exist, of /var/opt/oracle/oratab), each SID once. Entries without
 * a valid SID or an absolute path are left out. */
OracleInstances oracle_instances_read(Arena *arena, const Sources *sources);

/* Returns NULL if SID is not among them. */
const OracleInstance *oracle_instances_find(const OracleInstances *instances, const char *sid);

/* Whether SID has only the letters, digits and signs that Oracle allows; such a SID is safe in a file's name. */
bool oracle_sid_is_valid(const char *sid);

/* Returns the SID in the name of a parameter file, spfileSID.ora or initSID.ora; NULL for other names. */
const char *oracle_sid_of_file(Arena *arena, const char *path);

/* Automatic Storage Management, whose SIDs begin with "+". */
static inline bool oracle_is_asm(const char *sid) {
        return sid && *sid == '+';
}

/* Returns the directories with the parameter files of HOME, the likelier one first: HOME/dbs, and ORACLE_BASE/dbs of a
 * read-only home. BASE is ORACLE_BASE; NULL: HOME/install/orabasetab names it. */
SourceNames oracle_parameter_directories(Arena *arena, const Sources *sources, const char *home,
                                         const char *base);

/* Returns the file that the instance SID is started with: in each of DIRECTORIES the first existing one of
 * spfileSID.ora, spfile.ora and initSID.ora, even if it cannot be read. NULL: none. */
const char *oracle_parameter_file(Arena *arena, const Sources *sources,
                                  const SourceNames *directories, const char *sid);

/* Returns the only SID in the names of parameter files in DIRECTORIES; NULL if there is none, or more than one. */
const char *oracle_only_sid(Arena *arena, const Sources *sources, const SourceNames *directories);

/* Returns "orcl" for "oracle@orcl.service"; NULL for a unit without an instance. */
const char *oracle_unit_instance(Arena *arena, const char *unit);

/* Returns the service that starts only INSTANCE, as Environment=ORACLE_SID= or the name behind the @ says. NULL if
 * there is none, or more than one. */
const char *oracle_unit_of(Arena *arena, const Sources *sources, const OracleInstance *instance);

/* ---- initialization parameters, from a text file ("pfile") or a server parameter file ("spfile") ---- */

/* Sources: Oracle Database Reference, "Initialization Parameter Files" (grammar, IFILE) and Administrator's Guide,
 * "Managing Initialization Parameters Using a Server Parameter File". The format of a server parameter file is not
 * documented; its reader's comment says what is known of the format. Nothing is ever written. */

/* A parameter file, and what its text may refer to. */
typedef struct OracleFile {
        const char *path;
        const char *home; /* ORACLE_HOME, for "?"; NULL: the parent of the file's directory "dbs" */
        const char *sid;  /* for "@", and to skip other instances' parameters; NULL: not known */
} OracleFile;

/* Sets *ret to the parameters of FILE and of the files that it includes by IFILE= and SPFILE=, in the order of reading.
 * They are named as written, SID.NAME, or NAME also for *.NAME; values are without quotes, a list's first value, "" if
 * there is none. `spfile` is the last server parameter file that was read. Lines that are no assignments are skipped and
 * noted in PROBLEMS. Returns NULL, or a sentence with file, line and remedy: a file is unreadable, binary, truncated, in
 * ASM, or includes itself. */
const char *oracle_parameters_read(Arena *arena, const Sources *sources, const OracleFile *file,
                                   Settings *ret, Diags *problems);

/* Returns the parameter in effect for the instance SID (NULL: not known): the last of its own, else the last for all
 * instances; NULL if there is none. */
const Setting *oracle_parameter_find(const Settings *parameters, const char *sid, const char *name);

extern const ParameterTable oracle_parameter_table;

/* Returns the SIDs of settings named SID.NAME, in the order of the settings; a single NULL if there are none. */
SourceNames oracle_sids_of(Arena *arena, const Settings *settings);

/* Adds the text of a server parameter file, whose lines continue from one block to the next. */
void oracle_spfile_pieces(Arena *arena, const SourceText *file, Pieces *ret);
