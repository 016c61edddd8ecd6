/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which Oracle instances a host has, where the parameters of each are, and which unit starts it.
 *
 * Sources: the comment in /etc/oratab itself and dbstart; Oracle Database Administrator's Guide, "About Initialization
 * Parameter Files and Startup"; Installation Guide, "About Read-Only Oracle Homes" (orabasetab). */

#include "engines/finder.h"

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
