/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/suggest.h"

#include "base/size.h"
#include "base/text.h"
#include "engines/oracle/oracle_instances.h"
#include "model/name_check.h"
#include "model/names.h"
#include "read/sysv_segments.h"
#include "read/unit_file.h"

#include <stdlib.h>

/* More than that on one host is not believed. */
enum { CANDIDATES_MAX = 256 };

/* A database that was found, before it is known whether it needs anything. */
typedef struct Candidate {
        const Engine *engine;
        const char *name; /* of the instance: "postgresql-15-main" */
        const char *title;
        const char *found;
        EngineTarget target;
        const char *note; /* what the administrator should know; NULL: nothing */
        uint64_t peak_bytes;
        uint64_t memory_bytes; /* for Memory=, where nothing can be asked; 0: none */
} Candidate;

typedef struct Finder {
        Arena *arena;
        const SuggestInput *input;
        VEC(Candidate) candidates;
} Finder;

/* ---- candidates ---- */

/* Two traces of one database: its unit, or its data. */
static bool is_same(const Candidate *a, const Candidate *b) {
        if (a->target.unit && b->target.unit)
                return text_equals(a->target.unit, b->target.unit);
        if (a->target.data_directory && b->target.data_directory)
                return text_equals(a->target.data_directory, b->target.data_directory);
        return a->engine == b->engine && text_equals(a->name, b->name);
}

/* What was found first stands: packages tell more than processes do. */
static void add(Finder *finder, const Candidate *candidate) {
        if (finder->candidates.n >= CANDIDATES_MAX || name_check_instance(candidate->name) ||
            (candidate->target.unit && name_check_unit(candidate->target.unit)))
                return;
        VEC_FOREACH(other, &finder->candidates)
                if (is_same(other, candidate)) {
                        other->peak_bytes = MAX(other->peak_bytes, candidate->peak_bytes);
                        return;
                }
        *vec_push(finder->arena, &finder->candidates) = *candidate;
}

static SourceNames list(const Finder *finder, const char *path) {
        return source_list(finder->input->sources, finder->arena, path);
}

static bool has_file(const Finder *finder, const char *path) {
        return source_read(finder->input->sources, finder->arena, path).error != -ENOENT;
}

/* The name without its suffix: "mariadb@reports.service" -> "mariadb@reports". */
static const char *stem(Arena *arena, const char *unit) {
        return arena_strndup(arena, unit, strlen(unit) - strlen(".service"));
}

/* ---- PostgreSQL ---- */

static const char *debian_note(const Finder *finder, const char *directory) {
        SourceText start = source_read(finder->input->sources, finder->arena,
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

static void find_debian_cluster(Finder *finder, const char *version, const char *cluster) {
        Arena *arena = finder->arena;
        const char *directory = arena_printf(arena, "/etc/postgresql/%s/%s", version, cluster);

        if (!has_file(finder, arena_printf(arena, "%s/postgresql.conf", directory)))
                return;
        add(finder,
            &(Candidate){
                    .engine = engine_find("postgresql"),
                    .name = arena_printf(arena, "postgresql-%s-%s", version, cluster),
                    .title = arena_printf(arena, "PostgreSQL %s, cluster %s", version, cluster),
                    .found = directory,
                    .target = {.unit = arena_printf(arena, "postgresql@%s-%s.service", version,
                                                    cluster)},
                    .note = debian_note(finder, directory),
            });
}

static void find_debian_clusters(Finder *finder) {
        SourceNames versions = list(finder, "/etc/postgresql");

        VEC_FOREACH(version, &versions) {
                SourceNames clusters =
                        list(finder, arena_printf(finder->arena, "/etc/postgresql/%s", *version));

                VEC_FOREACH(cluster, &clusters)
                        find_debian_cluster(finder, *version, *cluster);
        }
}

/* Those of the PGDG and of RHEL; Debian's own postgresql.service starts nothing itself. */
static void find_postgresql_units(Finder *finder) {
        Arena *arena = finder->arena;
        const Sources *sources = finder->input->sources;
        SourceNames units = unit_file_names(arena, sources, "postgresql*.service");

        VEC_FOREACH(name, &units) {
                const UnitFile *unit = unit_file_read(arena, sources, *name);
                const char *data = unit_file_environment(arena, unit, sources, "PGDATA", NULL);

                if (!data || unit->is_masked || strchr(*name, '@'))
                        continue;
                add(finder, &(Candidate){
                                    .engine = engine_find("postgresql"),
                                    .name = stem(arena, *name),
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

/* Its files are read as who runs it, whatever it says it is. */
static const char *user_of(Arena *arena, const RunningProcess *process) {
        return process->uid == UINT64_MAX ? NULL : arena_printf(arena, "%" PRIu64, process->uid);
}

/* Its children show a title in place of their arguments. */
static void find_postmaster(Finder *finder, const RunningProcess *process) {
        const char *data = option_value(process, "-D");
        Arena *arena = finder->arena;

        if (!text_equals(process->command, "postgres") || !is_printable_path(data))
                return;
        add(finder, &(Candidate){
                            .engine = engine_find("postgresql"),
                            .name = process->unit && text_ends_with(process->unit, ".service")
                                            ? stem(arena, process->unit)
                                            : "postgresql",
                            .title = "PostgreSQL",
                            .found = arena_printf(arena, "process %" PRIu64, process->pid),
                            .target = {.unit = process->unit,
                                       .data_directory = data,
                                       .user = user_of(arena, process)},
                            .peak_bytes = process->peak_bytes,
                    });
}

/* ---- MariaDB and MySQL ---- */

static void find_units(Finder *finder, const char *engine, const char *title, const char *pattern) {
        Arena *arena = finder->arena;
        SourceNames units = unit_file_names(arena, finder->input->sources, pattern);

        VEC_FOREACH(name, &units) {
                const UnitFile *unit = unit_file_read(arena, finder->input->sources, *name);

                /* An alias is found under its own name. */
                if (!unit->fragment_path || unit->is_masked || !text_equals(unit->name, *name))
                        continue;
                add(finder, &(Candidate){
                                    .engine = engine_find(engine),
                                    .name = stem(arena, *name),
                                    .title = title,
                                    .found = unit->fragment_path,
                                    .target = {.unit = *name},
                            });
        }
}

/* ---- Oracle ---- */

/* +ASM counts with the instances that one unit starts, not by itself. */
static void find_oracle(Finder *finder) {
        Arena *arena = finder->arena;
        const Sources *sources = finder->input->sources;
        OracleInstances instances = oracle_instances_read(arena, sources);

        VEC_FOREACH(instance, &instances) {
                SourceNames directories =
                        oracle_parameter_directories(arena, sources, instance->home, NULL);

                const char *file =
                        oracle_parameter_file(arena, sources, &directories, instance->sid);

                if (oracle_is_asm(instance->sid))
                        continue;
                if (!file) /* its absence is what the administrator is told */
                        file = arena_printf(arena, "%s/dbs/init%s.ora", instance->home,
                                            instance->sid);
                add(finder,
                    &(Candidate){
                            .engine = engine_find("oracle"),
                            .name = arena_printf(arena, "oracle-%s", instance->sid),
                            .title = arena_printf(arena, "Oracle instance %s", instance->sid),
                            .found = instance->origin,
                            .target = {.config_file = file},
                            .note = "Oracle ships no unit: write the service that starts it into Unit=",
                    });
        }
}

/* ---- Java ---- */

static bool has_argument(const RunningProcess *process, const char *argument) {
        VEC_FOREACH(item, &process->arguments)
                if (text_equals(*item, argument))
                        return true;
        return false;
}

static void find_jvm(Finder *finder, const RunningProcess *process) {
        if (!process->unit || !text_ends_with(process->unit, ".service") ||
            !has_argument(process, "-XX:+UseLargePages"))
                return;
        add(finder,
            &(Candidate){
                    .engine = engine_find("jvm"),
                    .name = stem(finder->arena, process->unit),
                    .title = "Java with large pages",
                    .found = arena_printf(finder->arena, "process %" PRIu64, process->pid),
                    .target = {.unit = process->unit, .user = user_of(finder->arena, process)},
                    .peak_bytes = process->peak_bytes,
            });
}

/* ---- System V segments of programs that are none of the above ---- */

/* What is smaller is not worth a reservation. */
static const uint64_t segments_bytes_min = 64 * MIB;

/* All of one process. */
typedef struct Segments {
        uint64_t pid;
        uint64_t bytes;
} Segments;

typedef VEC(Segments) SegmentsList;

static void add_segment(Arena *arena, SegmentsList *list, const SysvSegment *segment) {
        VEC_FOREACH(known, list)
                if (known->pid == segment->pid) {
                        known->bytes = add_saturated(known->bytes, segment->size_bytes);
                        return;
                }
        *vec_push(arena, list) = (Segments){segment->pid, segment->size_bytes};
}

static SegmentsList add_up_segments(Arena *arena, const char *text) {
        const SysvSegments segments = sysv_segments_parse(arena, text);
        SegmentsList list = {};

        VEC_FOREACH(segment, &segments)
                if (segment->size_bytes >= 2 * MIB)
                        add_segment(arena, &list, segment);
        return list;
}

static const RunningProcess *find_process(const Finder *finder, uint64_t pid) {
        VEC_FOREACH(process, finder->input->processes)
                if (process->pid == pid)
                        return process;
        return NULL;
}

static void find_segments(Finder *finder) {
        Arena *arena = finder->arena;
        SegmentsList segments = add_up_segments(arena, finder->input->sysv_segments);

        VEC_FOREACH(segment, &segments) {
                const RunningProcess *process = find_process(finder, segment->pid);

                if (segment->bytes < segments_bytes_min || !process || !process->unit ||
                    !text_ends_with(process->unit, ".service"))
                        continue;
                add(finder,
                    &(Candidate){
                            .engine = engine_find("generic"),
                            .name = stem(arena, process->unit),
                            .title = "A program with System V shared memory",
                            .found = arena_printf(arena, "process %" PRIu64, process->pid),
                            .target = {.unit = process->unit},
                            .memory_bytes = segment->bytes,
                            .note = "It must ask for huge pages itself (SHM_HUGETLB); see its manual",
                    });
        }
}

/* ---- all of them ---- */

static void find_by_packages(Finder *finder) {
        static const struct {
                const char *engine, *title, *pattern;
        } services[] = {
                {"mariadb", "MariaDB", "mariadb.service"},
                {"mariadb", "MariaDB", "mariadb@*.service"},
                {"mysql", "MySQL", "mysql.service"},
                {"mysql", "MySQL", "mysqld.service"},
                {"mysql", "MySQL", "mysqld@*.service"},
                {"mongodb", "MongoDB", "mongod.service"},
                {"redis", "Redis", "redis-server.service"},
                {"redis", "Redis", "redis.service"},
                {"mssql", "SQL Server", "mssql-server.service"},
                {"clickhouse", "ClickHouse", "clickhouse-server.service"},
                {"memcached", "memcached", "memcached.service"},
        };

        find_debian_clusters(finder);
        find_postgresql_units(finder);
        for (size_t i = 0; i < ARRAY_LEN(services); i++)
                find_units(finder, services[i].engine, services[i].title, services[i].pattern);
        find_oracle(finder);
}

static void find_by_processes(Finder *finder) {
        VEC_FOREACH(process, finder->input->processes) {
                find_postmaster(finder, process);
                find_jvm(finder, process);
        }
        find_segments(finder);
}

/* ---- from candidate to drop-in ---- */

static const InstanceConfig *find_described(const Config *config, const Candidate *candidate) {
        for (size_t i = 0; i < config->n_instances; i++) {
                const InstanceConfig *instance = &config->instances[i];

                if ((candidate->target.unit &&
                     text_equals(instance->unit, candidate->target.unit)) ||
                    text_equals(instance->name, candidate->name) ||
                    (candidate->target.data_directory &&
                     text_equals(instance->data_directory, candidate->target.data_directory)))
                        return instance;
        }
        return NULL;
}

/* A comment of as many lines as it takes; whatever is in TEXT, it stays a comment. */
static void add_comment(Text *text, const char *first, const char *paragraph) {
        Text wrapped = text_in(text->arena);

        text_add_wrapped(&wrapped, first, "#   ", paragraph, 88);
        for (char *at = wrapped.string; at && *at; at++)
                if ((unsigned char) *at < ' ' && *at != '\n')
                        *at = '?';
        text_add(text, text_string(&wrapped));
}

static const char *format_figure(Arena *arena, const Sizing *sizing) {
        return arena_printf(arena, "%s%s pages of %s (%s)", sizing->is_exact ? "" : "at most ",
                            format_count(arena, sizing->pages),
                            format_page_size(arena, sizing->page_size_bytes),
                            format_size(arena, sizing->bytes));
}

/* The settings that make most of it, as they stand. */
static void add_inputs(Text *text, const Engine *engine, const Gathered *gathered) {
        const Setting *main_setting =
                engine->memory_setting ? settings_find(&gathered->settings, engine->memory_setting)
                                       : NULL;

        if (main_setting)
                add_comment(text, "# ",
                            arena_printf(text->arena, "%s = %s%s%s", main_setting->name,
                                         main_setting->value, main_setting->origin ? " in " : "",
                                         main_setting->origin ? main_setting->origin : ""));
        VEC_FOREACH(problem, &gathered->problems.list)
                add_comment(text, "# ", diag_format(text->arena, problem));
}

/* How large it is today, from its own files. Returns why that cannot be said, or NULL. */
static const char *add_size(Finder *finder, const Candidate *candidate, Text *text,
                            Suggestion *suggestion) {
        const Engine *engine = candidate->engine;
        uint64_t page_size_bytes = finder->input->topology->default_page_size_bytes;
        Figures figures = {};

        if (!engine->gather)
                return engine->reserves ? "hugeplan does not read this product's files" : NULL;
        page_size_bytes = page_size_bytes ? page_size_bytes : 2 * MIB;
        finder->input->gatherer->gather(finder->input->gatherer, finder->arena, engine,
                                        &candidate->target, &page_size_bytes, 1, &figures);
        const Figure *figure = &figures.items[figures.n - 1];

        if (figure->wrong)
                return figure->wrong;
        add_inputs(text, engine, figure->gathered);
        suggestion->pages = figure->sizing.pages;
        add_comment(text, "# ",
                    arena_printf(finder->arena, "Today: %s%s.",
                                 format_figure(finder->arena, &figure->sizing),
                                 engine->ask ? "; the server itself is asked before each start"
                                             : "; found out anew before each start"));
        return NULL;
}

static void add_keys(Text *text, const Candidate *candidate) {
        const Engine *engine = candidate->engine;

        text_printf(text, "[Instance]\nEngine=%s\n", engine->name);
        if (candidate->target.unit)
                text_printf(text, "Unit=%s\n", candidate->target.unit);
        else
                text_add(text, "#Unit=NAME.service\n");
        if (candidate->target.config_file)
                text_printf(text, "ConfigFile=%s\n", candidate->target.config_file);
        if (candidate->target.data_directory)
                text_printf(text, "DataDirectory=%s\n", candidate->target.data_directory);
        if (candidate->memory_bytes > 0)
                text_printf(text, "Memory=%" PRIu64 "M\n",
                            div_round_up(candidate->memory_bytes, MIB));
        else if (engine->reserves)
                text_add(text, "Memory=auto\n");
}

static void explain_candidate(Arena *arena, const Candidate *candidate, Text *text) {
        add_comment(text, "# ",
                    arena_printf(arena, "%s, found in %s.", candidate->title, candidate->found));
        if (candidate->note)
                add_comment(text, "# ", arena_printf(arena, "%s.", candidate->note));
        if (candidate->memory_bytes > 0)
                add_comment(text, "# ", "The size is that of its segments now.");
        if (!candidate->engine->reserves)
                add_comment(text, "# ",
                            "It takes no reserved huge pages; this states its wish for "
                            "transparent ones.");
}

/* Whose size cannot be found out would be refused by its own gate: it is told of, not proposed. */
static void make_dropin(Finder *finder, const Candidate *candidate, Suggestion *suggestion) {
        Arena *arena = finder->arena;
        Text text = text_in(arena);

        explain_candidate(arena, candidate, &text);
        if (candidate->memory_bytes == 0)
                suggestion->why_not = add_size(finder, candidate, &text, suggestion);
        if (suggestion->why_not) {
                suggestion->peak_bytes = candidate->peak_bytes;
                return;
        }
        add_keys(&text, candidate);
        suggestion->path =
                arena_printf(arena, PATH_CONFIG_ETC "/20-%s" NAME_CONFIG_SUFFIX, candidate->name);
        suggestion->text = text.string;
}

static Suggestion make_suggestion(Finder *finder, const Candidate *candidate) {
        const InstanceConfig *described = find_described(finder->input->config, candidate);
        Suggestion suggestion = {
                .title = candidate->title,
                .found = candidate->found,
                .engine = candidate->engine,
                .unit = candidate->target.unit,
        };

        if (described)
                suggestion.described = described->file;
        else
                make_dropin(finder, candidate, &suggestion);
        return suggestion;
}

Suggestions suggest(Arena *arena, const SuggestInput *input) {
        Finder finder = {.arena = arena, .input = input};
        Suggestions suggestions = {};

        find_by_packages(&finder);
        find_by_processes(&finder);
        VEC_FOREACH(candidate, &finder.candidates)
                *vec_push(arena, &suggestions) = make_suggestion(&finder, candidate);
        return suggestions;
}
