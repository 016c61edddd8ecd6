/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"
#include "engines/finder.h"
#include "engines/postgresql/postgresql.h"

#include <errno.h>
#include <string.h>

static void find_installed(Finder *finder, const Engine *engine) {
        Arena *arena = finder->arena;
        const PostgresqlClusters clusters = postgresql_clusters(arena, finder->sources);

        VEC_FOREACH(cluster, &clusters) {
                const char *directory = arena_printf(arena, POSTGRESQL_CLUSTERS "/%s/%s",
                                                     cluster->version, cluster->name);
                const char *path = arena_printf(arena, "%s/start.conf", directory), *line;
                SourceText start = source_read(finder->sources, arena, path);
                SourceLines lines = source_lines(&start);
                const char *note = NULL;

                while (!note && (line = source_line(arena, &lines))) {
                        const char *word = text_strip(arena, line);

                        if (TEXT_IS_ANY(word, "manual", "disabled"))
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
        finder_looked(finder, POSTGRESQL_CLUSTERS, clusters.n);
}

/* Whether CANDIDATE is the cluster in DIRECTORY, by its name, data directory or unit. */
static bool is_of_cluster(const Finder *finder, const Candidate *candidate, const char *name,
                          const char *directory) {
        const UnitFile *unit =
                candidate->target.unit
                        ? unit_file_read(finder->arena, finder->sources, candidate->target.unit)
                        : &(UnitFile){};

        return text_equals(candidate->name, name) ||
               text_equals(candidate->target.data_directory, directory) ||
               VEC_ANY(line, &unit->assignments, strstr(line->value, directory) != NULL);
}

/* Finds clusters that were restored, or whose packages were removed. */
static void find_rest(Finder *finder, const Engine *engine UNUSED) {
        static const char *const places[] = {"/var/lib/postgresql", "/var/lib/pgsql"};
        static const char why[] =
                "a PostgreSQL cluster that no unit which was found names; start it "
                "by a unit, and describe that with DataDirectory=";
        Arena *arena = finder->arena;

        ARRAY_FOREACH(place, places, ARRAY_LEN(places)) {
                const SourceNames versions = source_list(finder->sources, arena, *place);

                VEC_FOREACH(version, &versions) {
                        const char *above = arena_printf(arena, "%s/%s", *place, *version);
                        const SourceNames names = source_list(finder->sources, arena, above);

                        VEC_FOREACH(each, &names) {
                                const char *directory = arena_printf(arena, "%s/%s", above, *each);
                                const char *file = arena_printf(arena, "%s/PG_VERSION", directory);
                                const char *name =
                                        arena_printf(arena, "postgresql-%s-%s", *version, *each);

                                if (source_exists(finder->sources, arena, file) &&
                                    !VEC_ANY(candidate, &finder->candidates,
                                             is_of_cluster(finder, candidate, name, directory)))
                                        finder_pass(finder, directory, why);
                        }
                }
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

const EngineFinder finder_postgresql = {
        .find_installed = find_installed, .find_rest = find_rest, .describe = describe};
