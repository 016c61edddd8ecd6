/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"
#include "engines/finder.h"
#include "engines/postgresql/postgresql.h"

#include <errno.h>

static void find_installed(Finder *finder, const Engine *engine) {
        Arena *arena = finder->arena;
        const PostgresqlClusters clusters = postgresql_clusters(arena, finder->sources);

        VEC_FOREACH(cluster, &clusters) {
                const char *directory = arena_printf(arena, POSTGRESQL_CLUSTERS "/%s/%s",
                                                     cluster->version, cluster->name);
                const char *path = arena_printf(arena, "%s/start.conf", directory);
                SourceText start = source_read(finder->sources, arena, path);
                const char *note = NULL;

                SOURCE_FOREACH(line, arena, lines, &start) {
                        const char *word = text_strip(arena, line);

                        if (!note && TEXT_IS_ANY(word, "manual", "disabled"))
                                note = arena_printf(
                                        arena, "%s says '%s': its unit does not start it at boot",
                                        path, word);
                }
                if (source_exists(finder->sources, arena,
                                  arena_printf(arena, "%s/postgresql.conf", directory)))
                        finder_add(finder,
                                   &(Candidate){
                                           .engine = engine,
                                           .name = arena_printf(arena, "postgresql-%s-%s",
                                                                cluster->version, cluster->name),
                                           .title = arena_printf(arena, "PostgreSQL %s, cluster %s",
                                                                 cluster->version, cluster->name),
                                           .found = directory,
                                           .target = {.unit = cluster->unit},
                                           .note = note,
                                   });
        }
}

/* Programs that start the server, and may restart it by themselves. */
static const struct {
        const char *program, *title, *note;
} known[] = {
        {"patroni", "PostgreSQL under Patroni",
         "Patroni starts the server, and restarts by it do not run the gate"},
        {"pg_autoctl", "PostgreSQL under pg_auto_failover",
         "pg_autoctl starts the server, and restarts by it do not run the gate"},
        {"edb-postgres", "EDB Postgres Advanced Server", NULL},
};

static void describe(Finder *finder UNUSED, Candidate *candidate, const UnitFile *unit UNUSED,
                     const char *program) {
        ARRAY_FOREACH(row, known, ARRAY_LEN(known))
                if (text_equals(program, row->program)) {
                        candidate->title = row->title;
                        candidate->note = row->note;
                }
}

const EngineFinder finder_postgresql = {.find_installed = find_installed, .describe = describe};
