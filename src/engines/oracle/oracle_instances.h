/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which Oracle instances there are on a host, where the parameters of each are, and which unit starts it.
 *
 * Sources: the comment in /etc/oratab itself and dbstart; Oracle Database Administrator's Guide,
 * "About Initialization Parameter Files and Startup"; Installation Guide, "About Read-Only Oracle
 * Homes" (orabasetab). */

#include "read/unit_file.h"

typedef struct OracleInstance {
        const char *sid;
        const char *home;   /* ORACLE_HOME, without a "/" at the end */
        const char *origin; /* "/etc/oratab:7" */
        bool is_started;    /* by dbstart: its third field is Y, or W (when ASM runs) */
} OracleInstance;

typedef VEC(OracleInstance) OracleInstances;

/* The entries of /etc/oratab (where there is none, of /var/opt/oracle/oratab), each SID once. What
 * is no SID or no absolute path is left out. */
OracleInstances oracle_instances_read(Arena *arena, const Sources *sources);

/* NULL where it is not among them. */
const OracleInstance *oracle_instances_find(const OracleInstances *instances, const char *sid);

/* Letters, digits and a few signs, as Oracle has it; so it can stand in a file's name. */
bool oracle_sid_is_valid(const char *sid);

/* The SID in the name of a parameter file: of spfileSID.ora and initSID.ora; NULL for others. */
const char *oracle_sid_of_file(Arena *arena, const char *path);

/* Automatic Storage Management, whose SIDs begin with "+". */
static inline bool oracle_is_asm(const char *sid) {
        return sid && *sid == '+';
}

/* The directories where the parameter files of HOME are, the likelier one first: HOME/dbs, and
 * ORACLE_BASE/dbs of a read-only home. BASE (NULL: what HOME/install/orabasetab says) is
 * ORACLE_BASE. */
SourceNames oracle_parameter_directories(Arena *arena, const Sources *sources, const char *home,
                                         const char *base);

/* The file that the instance SID is started with: the first there is of spfileSID.ora, spfile.ora
 * and initSID.ora in each of DIRECTORIES; one that cannot be read counts as well. NULL: none. */
const char *oracle_parameter_file(Arena *arena, const Sources *sources,
                                  const SourceNames *directories, const char *sid);

/* The one SID that parameter files in DIRECTORIES have in their names; NULL where there is none, or
 * more than one. */
const char *oracle_only_sid(Arena *arena, const Sources *sources, const SourceNames *directories);

/* Whether it starts all that /etc/oratab marks, be it within a line for a shell. */
bool oracle_unit_calls_dbstart(Arena *arena, const UnitFile *unit);

/* "orcl" of "oracle@orcl.service"; NULL. */
const char *oracle_unit_instance(Arena *arena, const char *unit);

/* The service that starts INSTANCE alone: it says so by Environment=ORACLE_SID= or by what stands behind the @. NULL
 * where there is none, or more than one. */
const char *oracle_unit_of(Arena *arena, const Sources *sources, const OracleInstance *instance);
