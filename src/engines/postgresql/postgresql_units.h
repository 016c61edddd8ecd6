/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How a unit starts its PostgreSQL. */

#include "engines/postgresql/postgresql_command.h"
#include "engines/units.h"

typedef struct PostgresqlStart {
        const UnitFile *unit;      /* NULL: there is none */
        const char *cluster;       /* "15/main", of Debian's units; else NULL */
        PostgresqlCommand command; /* what ExecStart= gives */
} PostgresqlStart;

/* Reads TARGET's unit, and of its command line the settings that IS_WANTED takes. Returns NULL or a sentence. */
const char *postgresql_start_read(Arena *arena, const EngineTarget *target, const Sources *sources,
                                  PostgresqlWanted *is_wanted, PostgresqlStart *ret);

/* The data directory: as TARGET says, as -D says, OTHERWISE (NULL: that is not known), or as PGDATA says; NULL:
 * none of them does. */
const char *postgresql_start_directory(Arena *arena, const EngineTarget *target,
                                       const Sources *sources, const PostgresqlStart *start,
                                       const char *otherwise);

/* Where Patroni has its server: "postgresql:" of its file, and the environment, which wins.
 *
 * Sources: Patroni's documentation, "YAML Configuration Settings" and "Environment Configuration Settings"; YAML 1.2,
 * block mappings. */

typedef struct PostgresqlPatroni {
        const char *data_directory;   /* NULL: not known */
        const char *config_directory; /* NULL: the same */
        const char *programs;         /* the directory of postgres; NULL: not known */
} PostgresqlPatroni;

/* Of a unit that starts anything else nothing is found. Returns NULL, or a sentence on why its data directory is not
 * known. */
const char *postgresql_patroni_of_unit(Arena *arena, const UnitFile *unit, const Sources *sources,
                                       PostgresqlPatroni *ret);
