/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/postgresql/postgresql_server.h"

#include "base/size.h"
#include "base/text.h"
#include "engines/postgresql/postgresql_formula.h"
#include "engines/postgresql/postgresql_patroni.h"
#include "engines/postgresql/postgresql_units.h"
#include "model/problem.h"

#include <string.h>

typedef struct Server {
        Arena *arena;
        const EngineTarget *target;
        const Sources *sources;
        PostgresqlWanted *is_wanted;
        PostgresqlStart start;      /* by the unit */
        PostgresqlPatroni patroni;  /* that the unit starts */
        PostgresqlCommand last;     /* of the last start */
        const char *last_directory; /* where that was looked for */
        const char *directory;      /* what -D says */
        Settings files;
        Gathered *ret;
} Server;

static void warn(const Server *server, const char *text, const char *remedy) {
        diags_add(&server->ret->problems, &(Diag){.severity = SEVERITY_WARNING,
                                                  .id = problem_id(PROBLEM_DATABASE_FILES),
                                                  .text = text,
                                                  .remedy = remedy});
}

/* ---- the unit ---- */

/* Patroni's file need not say where the data is when TARGET does. */
static const char *learn_unit(Server *server) {
        const char *wrong = postgresql_start_read(server->arena, server->target, server->sources,
                                                  server->is_wanted, &server->start);
        const char *unknown =
                server->start.unit ? postgresql_patroni_of_unit(server->arena, server->start.unit,
                                                                server->sources, &server->patroni)
                                   : NULL;

        return unknown && !server->target->data_directory ? unknown : wrong;
}

static const char *find_user(const Server *server) {
        const char *user = unit_file_value(server->start.unit, "Service", "User");

        return server->target->user || !user || postgresql_value_fault(user) ? server->target->user
                                                                             : user;
}

/* ---- where the files are ---- */

/* The path in a setting; NULL where it is none. */
static const char *path_setting(const Settings *settings, const char *name) {
        const Setting *setting = settings_find(settings, name);

        return setting && *setting->value == '/' ? setting->value : NULL;
}

/* Once for each directory. What is wrong with it is history, and no reason to stop. */
static void read_last_command(Server *server, const char *directory) {
        const char *wrong;

        if (text_equals(directory, server->last_directory))
                return;
        server->last_directory = directory;
        server->last = (PostgresqlCommand){};
        wrong = postgresql_command_of_last_start(
                server->arena, server->sources,
                arena_printf(server->arena, "%s/postmaster.opts", directory), server->is_wanted,
                &server->last);
        if (wrong)
                warn(server, arena_printf(server->arena, "%s; its options are not counted", wrong),
                     NULL);
}

static const char *find_config_file(Server *server) {
        const char *found = server->target->config_file;

        if (!found && server->start.cluster)
                return arena_printf(server->arena, "/etc/postgresql/%s/postgresql.conf",
                                    server->start.cluster);
        if (!found)
                found = path_setting(&server->start.command.settings, "config_file");
        if (!found && server->patroni.config_directory)
                found = arena_printf(server->arena, "%s/postgresql.conf",
                                     server->patroni.config_directory);
        if (found || !server->directory)
                return found;
        read_last_command(server, server->directory);
        found = path_setting(&server->last.settings, "config_file");
        return found ? found : arena_printf(server->arena, "%s/postgresql.conf", server->directory);
}

static const char *refuse_unknown_place(const Server *server) {
        const char *unit = server->target->unit;

        if (!unit)
                return "nothing says where this PostgreSQL is; write Unit=postgresql@15-main.service, "
                       "or DataDirectory=";
        if (!server->start.unit)
                return arena_printf(server->arena,
                                    "there is no unit %s that would say where this PostgreSQL is; "
                                    "correct Unit=, or write DataDirectory=",
                                    unit);
        if (text_equals(server->start.unit->name, "postgresql.service") &&
            source_list(server->sources, server->arena, "/etc/postgresql").n > 0)
                return "postgresql.service starts all clusters and is none itself; write "
                       "Unit=postgresql@VERSION-NAME.service, as pg_lsclusters shows them";
        return arena_printf(
                server->arena,
                "%s does not say where its data directory is; write DataDirectory=", unit);
}

static const char *refuse_missing(const Server *server, const char *path) {
        if (server->start.cluster && !server->target->config_file)
                return arena_printf(server->arena,
                                    "%s: does not exist, so there is no cluster %s; correct Unit=, "
                                    "or write ConfigFile=",
                                    path, server->start.cluster);
        return arena_printf(server->arena,
                            "%s: does not exist; mount its file system, or correct %s", path,
                            server->target->config_file ? "ConfigFile=" : "DataDirectory=");
}

/* ---- files of the configuration ---- */

static const char *read_main_file(Server *server) {
        const char *path = find_config_file(server), *wrong;
        int unopened = 0;

        if (!path)
                return refuse_unknown_place(server);
        wrong = postgresql_conf_read(server->arena, server->sources, path, server->is_wanted,
                                     &server->files, &unopened);
        if (unopened)
                return unopened == -ENOENT
                               ? refuse_missing(server, path)
                               : arena_printf(server->arena, "%s: %s", path,
                                              postgresql_read_fault(server->arena, unopened));
        server->ret->config_file = path;
        server->ret->is_read = true;
        return wrong;
}

static const char *find_data_directory(const Server *server) {
        const char *const candidates[] = {
                server->target->data_directory,
                path_setting(&server->start.command.settings, "data_directory"),
                path_setting(&server->files, "data_directory"),
                server->directory,
        };
        const char *config_file = server->ret->config_file;

        for (size_t i = 0; i < ARRAY_LEN(candidates); i++)
                if (candidates[i])
                        return text_without_slashes(server->arena, candidates[i]);
        return arena_strndup(server->arena, config_file,
                             (size_t) (strrchr(config_file, '/') - config_file));
}

/* What a server that was never started does not have is no mistake. */
static const char *read_data_directory(Server *server) {
        const char *path, *wrong;
        int unopened = 0;

        server->ret->data_directory = find_data_directory(server);
        read_last_command(server, server->ret->data_directory);
        path = arena_printf(server->arena, "%s/postgresql.auto.conf", server->ret->data_directory);
        wrong = postgresql_conf_read(server->arena, server->sources, path, server->is_wanted,
                                     &server->files, &unopened);
        if (unopened == -EACCES)
                warn(server,
                     arena_printf(server->arena, "%s: %s; the server skips it", path,
                                  postgresql_read_fault(server->arena, unopened)),
                     "give it to the owner of the database");
        return wrong;
}

static bool is_pg_ctl_options(const char *name) {
        return text_equals(name, "pg_ctl_options");
}

/* pg_ctl_options = '-o -cwork_mem=1MB': pg_ctlcluster cuts it at the whitespace, quotes or not. */
static const char *read_pg_ctl_conf(Server *server, PostgresqlCommand *command) {
        Settings found = {};
        const char *path, *wrong, *rest, *word;

        if (!server->start.cluster)
                return NULL;
        path = arena_printf(server->arena, "/etc/postgresql/%s/pg_ctl.conf", server->start.cluster);
        wrong = postgresql_conf_read(server->arena, server->sources, path, is_pg_ctl_options,
                                     &found, NULL);
        const Setting *options = settings_find(&found, "pg_ctl_options");

        rest = options ? options->value : "";
        while (!wrong && (word = text_next_word(server->arena, &rest, " "))) {
                if (text_equals(word, "-o"))
                        word = text_next_word(server->arena, &rest, " ");
                else if (text_starts_with(word, "-o"))
                        word += strlen("-o");
                else
                        continue;
                wrong = postgresql_command_add(server->arena, word ? word : "", options->origin,
                                               server->is_wanted, command);
        }
        return wrong;
}

/* ---- version ---- */

static void set_version(const Server *server, const char *version, const char *origin) {
        server->ret->version = version;
        settings_add(server->arena, &server->ret->settings, "server_version", version, origin);
}

static void guess_version(const Server *server) {
        const char *const places[] = {server->target->unit, server->start.command.program,
                                      server->ret->config_file, server->ret->data_directory};

        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
                const char *version = postgresql_version_in(server->arena, places[i]);

                if (version) {
                        set_version(server, version, places[i]);
                        return;
                }
        }
}

/* At early boot the disk of the data may not be there yet. */
static void learn_version(const Server *server) {
        const char *path =
                arena_printf(server->arena, "%s/PG_VERSION", server->ret->data_directory);
        SourceText text = source_read(server->sources, server->arena, path);
        SourceLines lines = source_lines(&text);
        const char *line = source_line(server->arena, &lines);

        if (line && postgresql_is_version(line)) {
                set_version(server, line, source_origin(server->arena, path, 1));
                return;
        }
        guess_version(server);
        if (text.error < 0)
                warn(server,
                     arena_printf(server->arena,
                                  "%s: %s; not counted is what ALTER SYSTEM and the last command "
                                  "line have set there",
                                  path, postgresql_read_fault(server->arena, text.error)),
                     "mount its file system, or correct DataDirectory=");
        else
                warn(server, arena_printf(server->arena, "%s: holds no version", path),
                     "correct DataDirectory=");
}

/* ---- pg_control ---- */

/* In every version this number is stored before the sizes of blocks and segments, to tell the format
 * of floating point (ControlFileData.floatFormat in catalog/pg_control.h). */
static const double float_format = 1234567.0;

typedef struct ControlSizes {
        uint32_t block_bytes, segment_blocks, wal_block_bytes, wal_segment_bytes;
} ControlSizes;

static bool find_control_sizes(const SourceText *text, ControlSizes *ret) {
        for (size_t at = 0; at + sizeof(float_format) + sizeof(*ret) <= text->size; at += 4)
                if (memcmp(text->text + at, &float_format, sizeof(float_format)) == 0) {
                        memcpy(ret, text->text + at + sizeof(float_format), sizeof(*ret));
                        return true;
                }
        return false;
}

void postgresql_control_pieces(Arena *arena, const SourceText *file, Pieces *ret) {
        const char *found = memmem(file->text, file->size, &float_format, sizeof(float_format));

        if (find_control_sizes(file, &(ControlSizes){}))
                *vec_push(arena, ret) = (Piece){(size_t) (found - file->text),
                                                sizeof(float_format) + sizeof(ControlSizes), false};
}

/* Both were settled by who built the server and made the directory (initdb --wal-segsize). */
static void learn_control_sizes(const Server *server) {
        const char *path =
                arena_printf(server->arena, "%s/global/pg_control", server->ret->data_directory);
        SourceText text = source_read(server->sources, server->arena, path);
        ControlSizes sizes;

        if (text.error < 0 || !find_control_sizes(&text, &sizes))
                return;
        if (is_power_of_two(sizes.block_bytes) && sizes.block_bytes != 8 * KIB)
                settings_add(server->arena, &server->ret->settings, "block_size",
                             arena_printf(server->arena, "%" PRIu32, sizes.block_bytes), path);
        if (is_power_of_two(sizes.wal_segment_bytes) && sizes.wal_segment_bytes != 16 * MIB)
                settings_add(server->arena, &server->ret->settings, "wal_segment_size",
                             arena_printf(server->arena, "%" PRIu32, sizes.wal_segment_bytes),
                             path);
}

/* ---- all together ---- */

/* The command line of the last start. Patroni and others start the server with parameters that they keep
 * elsewhere, and which may have been raised since: then the files have the newer number, and the next start takes
 * that. So the larger of both counts. */
static void add_last_options(const Server *server) {
        VEC_FOREACH(option, &server->last.settings) {
                const Setting *filed = settings_find(&server->files, option->name);

                if (!filed || !postgresql_is_more(option->name, filed->value, option->value))
                        *vec_push(server->arena, &server->ret->options) = *option;
        }
}

const char *postgresql_gather(Arena *arena, const EngineTarget *target, const Sources *sources,
                              PostgresqlWanted *is_wanted, Gathered *ret) {
        Server server = {.arena = arena,
                         .target = target,
                         .sources = sources,
                         .is_wanted = is_wanted,
                         .ret = ret};
        PostgresqlCommand pg_ctl = {};
        const char *wrong = learn_unit(&server);

        server.directory = postgresql_start_directory(arena, target, sources, &server.start,
                                                      server.patroni.data_directory);
        if (!wrong)
                wrong = read_main_file(&server);
        if (!ret->config_file)
                return wrong;
        /* A server whose files cannot all be read here can still be asked: the rest of what that takes is found. */
        const char *others[] = {read_data_directory(&server), read_pg_ctl_conf(&server, &pg_ctl)};

        for (size_t i = 0; i < ARRAY_LEN(others); i++)
                wrong = wrong ? wrong : others[i];
        learn_version(&server);
        vec_push_all(arena, &ret->settings, &server.files);
        if (!server.start.command.is_server)
                add_last_options(&server);
        vec_push_all(arena, &ret->options, &pg_ctl.settings);
        vec_push_all(arena, &ret->options, &server.start.command.settings);
        vec_push_all(arena, &ret->settings, &ret->options);
        learn_control_sizes(&server);
        ret->program = server.start.command.program;
        if (!ret->program && server.patroni.programs)
                ret->program = arena_printf(arena, "%s/postgres", server.patroni.programs);
        ret->user = find_user(&server);
        return wrong;
}

/* ---- the question ---- */

static void add_programs(Arena *arena, const Gathered *gathered, uint64_t major,
                         SourceNames *names) {
        if (gathered->program)
                *vec_push(arena, names) = gathered->program;
        *vec_push(arena, names) =
                arena_printf(arena, "/usr/lib/postgresql/%" PRIu64 "/bin/postgres", major);
        *vec_push(arena, names) = arena_printf(arena, "/usr/pgsql-%" PRIu64 "/bin/postgres", major);
        *vec_push(arena, names) = "/usr/bin/postgres";
}

static void add_option(Arena *arena, SourceNames *arguments, const char *assignment) {
        *vec_push(arena, arguments) = "-c";
        *vec_push(arena, arguments) = assignment;
}

/* What the server will be started with, for its files do not know that. */
static void add_options(Arena *arena, const Gathered *gathered, SourceNames *arguments) {
        VEC_FOREACH(option, &gathered->options)
                if (!text_equals(option->name, "config_file") &&
                    !text_equals(option->name, "huge_page_size"))
                        add_option(arena, arguments,
                                   arena_printf(arena, "%s=%s", option->name, option->value));
}

void postgresql_ask_version(Arena *arena, const EngineTarget *target, const Sources *sources,
                            const Gathered *gathered, Question *ret) {
        uint64_t major;

        (void) target;
        (void) sources;
        *ret = (Question){};
        if (gathered->version && parse_major_version(gathered->version, &major) >= 0)
                add_programs(arena, gathered, major, &ret->program);
        *vec_push(arena, &ret->arguments) = "--version";
}

/* -D must be the first: otherwise -C would be taken for leave to run as root. */
bool postgresql_ask(Arena *arena, const Gathered *gathered, uint64_t page_size_bytes,
                    Question *ret) {
        SourceNames programs = {}, arguments = {};
        uint64_t major;

        if (!gathered->version || !gathered->data_directory || !gathered->config_file ||
            parse_major_version(gathered->version, &major) < 0 || major < 15)
                return false;
        add_programs(arena, gathered, major, &programs);
        *vec_push(arena, &arguments) = "-D";
        *vec_push(arena, &arguments) = gathered->data_directory;
        add_option(arena, &arguments, arena_printf(arena, "config_file=%s", gathered->config_file));
        add_options(arena, gathered, &arguments);
        add_option(arena, &arguments,
                   arena_printf(arena, "huge_page_size=%" PRIu64 "kB", page_size_bytes / KIB));
        *vec_push(arena, &arguments) = "-C";
        *vec_push(arena, &arguments) = "shared_memory_size_in_huge_pages";
        *ret = (Question){.program = programs,
                          .arguments = arguments,
                          .user = gathered->user,
                          .data_directory = gathered->data_directory,
                          .untrusted = gathered->untrusted};
        return true;
}
