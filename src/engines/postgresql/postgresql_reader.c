/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A PostgreSQL server as its files describe it: where they are, in which order the server reads them, and what to ask
 * its program. Later settings override, as in the server:
 *
 *   server_version       PG_VERSION of the data directory, else the path or the unit's name
 *   postgresql.conf      and the files that it includes
 *   postgresql.auto.conf of the data directory (ALTER SYSTEM)
 *   postmaster.opts      there: the last command line; not if the unit starts the server itself
 *   pg_ctl.conf          of Debian's clusters
 *   ExecStart=           of the unit
 *   block_size, wal_segment_size  from pg_control, if they are not the usual ones */

#include "base/text.h"
#include "engines/postgresql/postgresql.h"
#include "model/problem.h"

#include <string.h>
#include <strings.h>

static bool is_wanted(const char *name) {
        return parameters_have(&postgresql_parameters, name) ||
               strcasecmp(name, "data_directory") == 0 || strcasecmp(name, "config_file") == 0;
}

/* Returns whether the setting NAME is a number, and VALUE is more than OTHER; false if one of the values is wrong. */
static bool is_more(const char *name, const char *value, const char *other) {
        ARRAY_FOREACH(row, postgresql_parameters.rows, postgresql_parameters.n) {
                uint64_t more, less;

                if (setting_is_named(row->name, name) && row->parse)
                        return row->parse(value, &more) >= 0 && row->parse(other, &less) >= 0 &&
                               more > less;
        }
        return false;
}

typedef struct Server {
        Arena *arena;
        const EngineTarget *target;
        const Sources *sources;
        PostgresqlStart start;      /* the start by the unit */
        PostgresqlPatroni patroni;  /* of the unit; empty if it does not start Patroni */
        PostgresqlCommand last;     /* the command line of the last start */
        const char *last_directory; /* the directory of `last` */
        const char *directory;      /* as TARGET, -D, Patroni or PGDATA say */
        Settings files;
        Gathered *ret;
} Server;

static void warn(const Server *server, const char *text, const char *remedy) {
        diags_report(&server->ret->problems, problem_of(PROBLEM_DATABASE_FILES, NULL, remedy), "%s",
                     text);
}

/* Keeps the wanted options of a command line. Returns NULL, or a sentence about a value that cannot be printed. */
static const char *keep_wanted(Arena *arena, PostgresqlCommand *command) {
        VEC_KEEP(option, &command->settings, is_wanted(option->name));
        VEC_FOREACH(option, &command->settings) {
                const char *fault = postgresql_value_fault(option->value);

                if (fault) {
                        fault = arena_printf(arena, "%s: %s: %s", option->origin, option->name,
                                             fault);
                        command->settings.n = 0;
                        return fault;
                }
        }
        return NULL;
}

/* ---- where the files are ---- */

/* Returns the path in a setting; NULL: the value is no absolute path. */
static const char *path_setting(const Settings *settings, const char *name) {
        const Setting *setting = settings_find(settings, name);

        return setting && *setting->value == '/' ? setting->value : NULL;
}

/* Reads each directory's file once. An error in it is only a warning, because the next start writes it anew. */
static void read_last_command(Server *server, const char *directory) {
        Arena *arena = server->arena;

        if (text_equals(directory, server->last_directory))
                return;
        server->last_directory = directory;
        server->last = (PostgresqlCommand){};
        const char *wrong = postgresql_command_of_last_start(
                arena, server->sources, arena_printf(arena, "%s/postmaster.opts", directory),
                &server->last);

        if (!wrong)
                wrong = keep_wanted(arena, &server->last);
        if (wrong) {
                server->last = (PostgresqlCommand){};
                warn(server, arena_printf(arena, "%s; its options are not counted", wrong), NULL);
        }
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
                return "it is not known where this PostgreSQL is; write "
                       "Unit=postgresql@15-main.service, or DataDirectory=";
        if (!server->start.unit)
                return arena_printf(
                        server->arena,
                        "there is no unit %s, so it is not known where this PostgreSQL is; "
                        "correct Unit=, or write DataDirectory=",
                        unit);
        if (text_equals(server->start.unit->name, "postgresql.service") &&
            source_list(server->sources, server->arena, "/etc/postgresql").n > 0)
                return "postgresql.service starts all clusters, but no server itself; "
                       "write Unit=postgresql@VERSION-NAME.service, as pg_lsclusters "
                       "shows them";
        return arena_printf(server->arena,
                            "%s does not name its data directory; write DataDirectory=", unit);
}

/* ---- files of the configuration ---- */

static const char *read_main_file(Server *server) {
        Arena *arena = server->arena;
        const char *path = find_config_file(server);
        int unopened = 0;

        if (!path)
                return refuse_unknown_place(server);
        const char *wrong = postgresql_conf_read(arena, server->sources, path, is_wanted,
                                                 &server->files, &unopened);

        if (unopened == -ENOENT && server->start.cluster && !server->target->config_file)
                return arena_printf(arena,
                                    "%s: does not exist, so there is no cluster %s; correct Unit=, "
                                    "or write ConfigFile=",
                                    path, server->start.cluster);
        if (unopened == -ENOENT)
                return arena_printf(
                        arena, "%s: does not exist; mount its file system, or correct %s", path,
                        server->target->config_file ? "ConfigFile=" : "DataDirectory=");
        if (unopened)
                return arena_printf(arena, "%s: %s", path, reader_fault(arena, unopened));
        server->ret->config_file = path;
        server->ret->is_read = true;
        return wrong;
}

/* Files that are missing because the server was never started are no error. */
static const char *read_data_directory(Server *server) {
        Arena *arena = server->arena;
        const char *config_file = server->ret->config_file;
        const char *const candidates[] = {
                server->target->data_directory,
                path_setting(&server->start.command.settings, "data_directory"),
                path_setting(&server->files, "data_directory"),
                server->directory,
                arena_strdup_to(arena, config_file, strrchr(config_file, '/')),
        };
        const char *found = *ARRAY_FIND(each, candidates, ARRAY_LEN(candidates), *each);
        int unopened = 0;

        server->ret->data_directory = text_without_slashes(arena, found);
        read_last_command(server, server->ret->data_directory);
        const char *path =
                arena_printf(arena, "%s/postgresql.auto.conf", server->ret->data_directory);
        const char *wrong = postgresql_conf_read(arena, server->sources, path, is_wanted,
                                                 &server->files, &unopened);

        if (unopened == -EACCES)
                warn(server,
                     arena_printf(arena, "%s: %s; the server skips it if it cannot either", path,
                                  reader_fault(arena, unopened)),
                     "give it to the owner of the database");
        return wrong;
}

static bool is_pg_ctl_options(const char *name) {
        return text_equals(name, "pg_ctl_options");
}

/* pg_ctl_options = '-o -cwork_mem=1MB': pg_ctlcluster splits it at whitespace, even within quotes. */
static const char *read_pg_ctl_conf(Server *server, PostgresqlCommand *command) {
        Arena *arena = server->arena;
        Settings found = {};

        if (!server->start.cluster)
                return NULL;
        const char *wrong = postgresql_conf_read(
                arena, server->sources,
                arena_printf(arena, "/etc/postgresql/%s/pg_ctl.conf", server->start.cluster),
                is_pg_ctl_options, &found, NULL);
        const Setting *options = settings_find(&found, "pg_ctl_options");
        const char *rest = options ? options->value : "", *word;

        while (!wrong && (word = text_next_word(arena, &rest, " "))) {
                if (text_equals(word, "-o"))
                        word = text_next_word(arena, &rest, " ");
                else if (text_starts_with(word, "-o"))
                        word += strlen("-o");
                else
                        continue;
                postgresql_command_add(arena, word ? word : "", options->origin, command);
        }
        return wrong ? wrong : keep_wanted(arena, command);
}

/* ---- version ---- */

static void set_version(const Server *server, const char *version, const char *origin) {
        server->ret->version = version;
        settings_add(server->arena, &server->ret->settings, "server_version", version, origin);
}

static void guess_version(const Server *server) {
        const char *const places[] = {server->target->unit, server->start.command.program,
                                      server->ret->config_file, server->ret->data_directory};
        const char *version = NULL;

        for (size_t i = 0; i < ARRAY_LEN(places) && !version; i++)
                if ((version = postgresql_version_in(server->arena, places[i])))
                        set_version(server, version, places[i]);
}

/* At early boot the data's file system may not be mounted yet. */
static void learn_version(const Server *server) {
        Arena *arena = server->arena;
        const char *path = arena_printf(arena, "%s/PG_VERSION", server->ret->data_directory);
        SourceText text = source_read(server->sources, arena, path);
        SourceLines lines = source_lines(&text);
        const char *line = source_line(arena, &lines);

        if (line && postgresql_is_version(line)) {
                set_version(server, line, source_origin(arena, path, 1));
                return;
        }
        guess_version(server);
        if (text.error < 0)
                warn(server,
                     arena_printf(arena,
                                  "%s: %s; what ALTER SYSTEM and the last command line have set "
                                  "there is not counted",
                                  path, reader_fault(arena, text.error)),
                     "mount its file system, or correct DataDirectory=");
        else
                warn(server, arena_printf(arena, "%s: contains no version", path),
                     "correct DataDirectory=");
}

/* ---- pg_control ---- */

/* Every version stores this number before the sizes of blocks and segments, to identify the floating-point format
 * (ControlFileData.floatFormat in catalog/pg_control.h). */
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

static void add_pieces(Arena *arena, const SourceText *file, Pieces *ret) {
        const char *found = memmem(file->text, file->size, &float_format, sizeof(float_format));

        if (find_control_sizes(file, &(ControlSizes){}))
                *vec_push(arena, ret) = (Piece){(size_t) (found - file->text),
                                                sizeof(float_format) + sizeof(ControlSizes), false};
}

/* Both sizes were fixed when the server was built and the directory was made (initdb --wal-segsize). */
static void learn_control_sizes(const Server *server) {
        const char *path =
                arena_printf(server->arena, "%s/global/pg_control", server->ret->data_directory);
        SourceText text = source_read(server->sources, server->arena, path);
        ControlSizes sizes;

        if (text.error < 0 || !find_control_sizes(&text, &sizes))
                return;
        const struct {
                const char *name;
                uint64_t bytes, usual_bytes;
        } settings[] = {
                {"block_size", sizes.block_bytes, 8 * KIB},
                {"wal_segment_size", sizes.wal_segment_bytes, 16 * MIB},
        };

        ARRAY_FOREACH(each, settings, ARRAY_LEN(settings))
                if (is_power_of_two(each->bytes) && each->bytes != each->usual_bytes)
                        settings_add(server->arena, &server->ret->settings, each->name,
                                     arena_printf(server->arena, "%" PRIu64, each->bytes), path);
}

/* ---- all together ---- */

static const char *gather(Arena *arena, const Engine *engine UNUSED, const EngineTarget *target,
                          const Sources *sources, Gathered *ret) {
        Server server = {.arena = arena, .target = target, .sources = sources, .ret = ret};
        PostgresqlCommand pg_ctl = {};

        server.start = postgresql_start_read(arena, target, sources);
        const char *wrong = keep_wanted(arena, &server.start.command);
        const char *unknown =
                server.start.unit ? postgresql_patroni_of_unit(server.start.unit, &server.patroni)
                                  : NULL;

        /* If TARGET has the data directory, Patroni's file need not have it. */
        if (unknown && !target->data_directory)
                wrong = unknown;
        server.directory = postgresql_start_directory(arena, target, &server.start,
                                                      server.patroni.data_directory);
        if (!wrong)
                wrong = read_main_file(&server);
        if (target->is_alone) {
                guess_version(&server);
                vec_push_all(arena, &ret->settings, &server.files);
        }
        if (target->is_alone || !ret->config_file)
                return wrong;
        /* A server with unreadable files can still be asked: find the rest of what the question needs. */
        const char *others[] = {read_data_directory(&server), read_pg_ctl_conf(&server, &pg_ctl)};

        for (size_t i = 0; i < ARRAY_LEN(others); i++)
                wrong = wrong ? wrong : others[i];
        learn_version(&server);
        vec_push_all(arena, &ret->settings, &server.files);
        /* Patroni and others start the server with parameters that are stored elsewhere, and may have been raised since
         * the last start: then the files have the larger number, which the next start uses. Therefore the larger of
         * both counts. */
        VEC_FOREACH(option, &server.last.settings) {
                const Setting *filed = settings_find(&server.files, option->name);

                if (!server.start.command.is_server &&
                    (!filed || !is_more(option->name, filed->value, option->value)))
                        *vec_push(arena, &ret->options) = *option;
        }
        vec_push_all(arena, &ret->options, &pg_ctl.settings);
        vec_push_all(arena, &ret->options, &server.start.command.settings);
        vec_push_all(arena, &ret->settings, &ret->options);
        learn_control_sizes(&server);
        ret->program = server.start.command.program;
        if (!ret->program && server.patroni.programs)
                ret->program = arena_printf(arena, "%s/postgres", server.patroni.programs);
        const char *user = unit_file_value(server.start.unit, "Service", "User");

        ret->user = target->user || !user || postgresql_value_fault(user) ? target->user : user;
        return wrong;
}

/* ---- the question ---- */

static void add_programs(Arena *arena, const Gathered *gathered, SourceNames *names) {
        uint64_t major;

        if (!gathered->version || parse_major_version(gathered->version, &major) < 0)
                return;
        if (gathered->program)
                *vec_push(arena, names) = gathered->program;
        *vec_push(arena, names) =
                arena_printf(arena, "/usr/lib/postgresql/%" PRIu64 "/bin/postgres", major);
        *vec_push(arena, names) = arena_printf(arena, "/usr/pgsql-%" PRIu64 "/bin/postgres", major);
        *vec_push(arena, names) = "/usr/bin/postgres";
}

/* Returns false if the server would take no pages of this size, whatever its answer. */
static bool ask(Arena *arena, const Gathered *gathered, uint64_t page_size_bytes, Question *ret) {
        SourceNames programs = {}, assignments = {}, arguments = {};
        uint64_t major;

        if (!gathered->version || !gathered->data_directory || !gathered->config_file ||
            parse_major_version(gathered->version, &major) < 0 || major < 15 ||
            !postgresql_takes_pages(arena, &gathered->settings, page_size_bytes))
                return false;
        add_programs(arena, gathered, &programs);
        *vec_push(arena, &assignments) =
                arena_printf(arena, "config_file=%s", gathered->config_file);
        /* The options of the server's command line, which its files do not contain. */
        VEC_FOREACH(option, &gathered->options)
                if (!TEXT_IS_ANY(option->name, "config_file", "huge_page_size"))
                        *vec_push(arena, &assignments) =
                                arena_printf(arena, "%s=%s", option->name, option->value);
        *vec_push(arena, &assignments) =
                arena_printf(arena, "huge_page_size=%" PRIu64 "kB", page_size_bytes / KIB);
        /* -D must come first: a -C in its place would allow the server to run as root. */
        *vec_push(arena, &arguments) = "-D";
        *vec_push(arena, &arguments) = gathered->data_directory;
        VEC_FOREACH(assignment, &assignments) {
                *vec_push(arena, &arguments) = "-c";
                *vec_push(arena, &arguments) = *assignment;
        }
        *vec_push(arena, &arguments) = "-C";
        *vec_push(arena, &arguments) = "shared_memory_size_in_huge_pages";
        *ret = (Question){programs, arguments, gathered->user, gathered->data_directory,
                          gathered->untrusted};
        return true;
}

/* ---- its answer ---- */

static const char *answer(Arena *arena, const Gathered *gathered, const char *output,
                          uint64_t page_size_bytes, Sizing *ret) {
        Sizing sizing = {.page_size_bytes = page_size_bytes, .is_exact = true};
        const char *number = text_strip(arena, output); /* alone on its line */
        const Setting *buffers = settings_find(&gathered->settings, "shared_buffers");
        uint64_t pages = 0, least_bytes = 0;

        /* The lower bound of the segment's size. */
        if (buffers && !settings_find(&gathered->settings, "block_size"))
                postgresql_parse_blocks(buffers->value, &least_bytes);
        uint64_t least = div_round_up(least_bytes, page_size_bytes);

        if (text_equals(number, "-1"))
                return "the server says that it cannot use huge pages on this host";
        if (parse_u64(number, &pages) < 0 || pages == 0 || pages > UINT64_MAX / page_size_bytes)
                return "the server was asked for its number of huge pages and did not print one";
        if (pages < least)
                return arena_printf(arena,
                                    "the server says it needs %s, but "
                                    "shared_buffers alone takes %" PRIu64,
                                    format_page_count(arena, pages, page_size_bytes), least);
        sizing_add(arena, &sizing, "the server's own answer",
                   "postgres -C shared_memory_size_in_huge_pages", pages * page_size_bytes);
        sizing_finish(&sizing);
        *ret = sizing;
        return NULL;
}

/* ---- all ---- */

/* Words of its files, Patroni's and its launchers', and of command lines. */
static Reads reads(const Engine *engine UNUSED, const char *word) {
        static const char values[] =
                "include include_if_exists include_dir data_dir config_dir bin_dir PGDATA "
                "PATRONI_POSTGRESQL_DATA_DIR PATRONI_POSTGRESQL_CONFIG_DIR PATRONI_POSTGRESQL_BIN_DIR";

        if (text_has_word("D B N pgdata patroni", word))
                return READS_NEXT;
        if (text_has_word("postgresql pg_ctl_options pg_ctlcluster auto manual disabled", word) ||
            text_starts_with(word, "D/"))
                return READS_WORD;
        return text_has_word(values, word) || is_wanted(word) ? READS_VALUE : READS_NOT;
}

static const EngineFallback fallbacks[] = {
        {"huge_pages", "off false no 0", "its huge_pages is off", NULL, true},
        {"huge_pages", "on true yes 1",
         "its files have huge_pages=on, but it was started with something else"},
        {"huge_pages", NULL,
         "with huge_pages=try it silently takes small pages if there are too few huge pages at its start",
         "with huge_pages=on it starts with huge pages, or says why not"},
};

const EngineReader reader_postgresql = {
        .add_units = postgresql_add_units,
        .find_absent = postgresql_find_absent,
        .gather = gather,
        .ask = ask,
        .answer = answer,
        .add_programs = add_programs,
        .version_mark = "(PostgreSQL) ", /* "postgres (PostgreSQL) 17.5 (Debian 17.5-1.pgdg13+1)" */
        .fallbacks = fallbacks,
        .n_fallbacks = ARRAY_LEN(fallbacks),
        .reads = reads,
        .whole_files = "PG_VERSION",
        .pieces = add_pieces,
        .sessions_setting = "max_connections",
        .sessions_initial = 100,
};
