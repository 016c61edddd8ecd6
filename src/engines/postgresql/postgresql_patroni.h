/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where Patroni has its server: "postgresql:" of its file, and the environment, which wins.
 *
 * Sources: Patroni's documentation, "YAML Configuration Settings" and "Environment Configuration Settings"; YAML 1.2,
 * block mappings. */

#include "read/unit_file.h"

typedef struct PostgresqlPatroni {
        const char *data_directory;   /* NULL: not known */
        const char *config_directory; /* NULL: the same */
        const char *programs;         /* the directory of postgres; NULL: not known */
} PostgresqlPatroni;

/* Of a unit that starts anything else nothing is found. Returns NULL, or a sentence on why its data directory is not
 * known. */
const char *postgresql_patroni_of_unit(Arena *arena, const UnitFile *unit, const Sources *sources,
                                       PostgresqlPatroni *ret);
