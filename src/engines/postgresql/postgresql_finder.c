/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"
#include "engines/finder.h"
#include "read/unit_file.h"

#include <errno.h>
#include <string.h>

static SourceNames list(const Finder *finder, const char *path) {
        return source_list(finder->sources, finder->arena, path);
}

static bool has_file(const Finder *finder, const char *path) {
        return source_read(finder->sources, finder->arena, path).error != -ENOENT;
}

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
        const char *directory = arena_printf(arena, "/etc/postgresql/%s/%s", version, cluster);

        if (!has_file(finder, arena_printf(arena, "%s/postgresql.conf", directory)))
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

/* Those of the PGDG and of RHEL; Debian's own postgresql.service starts nothing itself. */
static void find_units(Finder *finder, const Engine *engine) {
        Arena *arena = finder->arena;
        const Sources *sources = finder->sources;
        SourceNames units = unit_file_names(arena, sources, "postgresql*.service");

        VEC_FOREACH(name, &units) {
                const UnitFile *unit = unit_file_read(arena, sources, *name);
                const char *data = unit_file_environment(arena, unit, sources, "PGDATA", NULL);

                if (!data || unit->is_masked || strchr(*name, '@'))
                        continue;
                finder_add(finder, &(Candidate){
                                           .engine = engine,
                                           .name = finder_stem(finder, *name),
                                           .title = "PostgreSQL",
                                           .found = unit->fragment_path,
                                           .target = {.unit = *name, .data_directory = data},
                                   });
        }
}

/* What follows an option: "-D /srv/pg", "-D/srv/pg", "--name=value"; NULL: it is not there. */
static const char *option_value(const RunningProcess *process, const char *option) {
        size_t length = strlen(option);

        for (size_t i = 1; i < process->arguments.n; i++) {
                const char *argument = process->arguments.items[i];

                if (!text_starts_with(argument, option))
                        continue;
                if (argument[length] == '\0')
                        return i + 1 < process->arguments.n ? process->arguments.items[i + 1]
                                                            : NULL;
                return argument + length;
        }
        return NULL;
}

static bool is_printable_path(const char *path) {
        if (!path || *path != '/' || !text_is_utf8(path, strlen(path)))
                return false;
        for (const char *at = path; *at; at++)
                if ((unsigned char) *at < ' ' || *at == 0x7f)
                        return false;
        return true;
}

static void find_installed(Finder *finder, const Engine *engine) {
        SourceNames versions = list(finder, "/etc/postgresql");

        VEC_FOREACH(version, &versions) {
                SourceNames clusters =
                        list(finder, arena_printf(finder->arena, "/etc/postgresql/%s", *version));

                VEC_FOREACH(cluster, &clusters)
                        find_debian_cluster(finder, engine, *version, *cluster);
        }
        find_units(finder, engine);
}

static void find_running(Finder *finder, const Engine *engine) {
        VEC_FOREACH(process, finder->processes) {
                /* Its children show a title in place of their arguments. */
                const char *data = option_value(process, "-D");
                Arena *arena = finder->arena;

                if (!text_equals(process->command, "postgres") || !is_printable_path(data))
                        continue;
                finder_add(
                        finder,
                        &(Candidate){
                                .engine = engine,
                                .name = process->unit && text_ends_with(process->unit, ".service")
                                                ? finder_stem(finder, process->unit)
                                                : "postgresql",
                                .title = "PostgreSQL",
                                .found = arena_printf(arena, "process %" PRIu64, process->pid),
                                .target = {.unit = process->unit,
                                           .data_directory = data,
                                           .user = finder_user(finder, process)},
                                .peak_bytes = process->peak_bytes,
                        });
        }
}

const EngineFinder finder_postgresql = {.find_installed = find_installed,
                                        .find_running = find_running};
