/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"
#include "engines/finder.h"
#include "read/unit_file.h"

#include <errno.h>
#include <string.h>

#define PATH_CLUSTERS "/etc/postgresql"

static const char *debian_note(const Finder *finder, const char *directory) {
        SourceText start = source_read(finder->sources, finder->arena,
                                       arena_printf(finder->arena, "%s/start.conf", directory));
        SourceLines lines = source_lines(&start);
        char *line;

        while ((line = source_line(finder->arena, &lines))) {
                const char *word = text_strip(finder->arena, line);

                if (text_equals(word, "manual") || text_equals(word, "disabled"))
                        return arena_printf(finder->arena,
                                            "%s/start.conf says '%s': nothing starts it at boot",
                                            directory, word);
        }
        return NULL;
}

static void find_debian_cluster(Finder *finder, const Engine *engine, const char *version,
                                const char *cluster) {
        Arena *arena = finder->arena;
        const char *directory = arena_printf(arena, PATH_CLUSTERS "/%s/%s", version, cluster);

        if (!source_exists(finder->sources, arena,
                           arena_printf(arena, "%s/postgresql.conf", directory)))
                return;
        finder_add(
                finder,
                &(Candidate){
                        .engine = engine,
                        .name = arena_printf(arena, "postgresql-%s-%s", version, cluster),
                        .title = arena_printf(arena, "PostgreSQL %s, cluster %s", version, cluster),
                        .found = directory,
                        .target = {.unit = arena_printf(arena, "postgresql@%s-%s.service", version,
                                                        cluster)},
                        .note = debian_note(finder, directory),
                });
}

static void find_installed(Finder *finder, const Engine *engine) {
        SourceNames versions = source_list(finder->sources, finder->arena, PATH_CLUSTERS);
        size_t n = 0;

        VEC_FOREACH(version, &versions) {
                SourceNames clusters =
                        source_list(finder->sources, finder->arena,
                                    arena_printf(finder->arena, PATH_CLUSTERS "/%s", *version));

                n += clusters.n;
                VEC_FOREACH(cluster, &clusters)
                        find_debian_cluster(finder, engine, *version, *cluster);
        }
        finder_looked(finder, PATH_CLUSTERS, n);
}

/* What starts the server, and may start it again by itself. */
static const struct {
        const char *program, *title, *note;
} known[] = {
        {"patroni", "PostgreSQL under Patroni",
         "Patroni starts the server, and a restart of its own passes no gate"},
        {"pg_autoctl", "PostgreSQL under pg_auto_failover",
         "pg_autoctl starts the server, and a restart of its own passes no gate"},
        {"edb-postgres", "EDB Postgres Advanced Server", NULL},
};

static void describe(Finder *finder UNUSED, Candidate *candidate, const UnitFile *unit UNUSED,
                     const char *program) {
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
                if (text_equals(program, known[i].program)) {
                        candidate->title = known[i].title;
                        candidate->note = known[i].note;
                }
}

const EngineFinder finder_postgresql = {.find_installed = find_installed, .describe = describe};
