/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* PostgreSQL's files: the server's grammar (each case was tried on 15.18), included files, command lines, and questions to
 * the server (grammar.stories).
 *
 *     file PATH TEXT                 adds or replaces a file; unreadable PATH
 *     read TEXT, conf PATH           the settings of a text, or of a file with those that it includes
 *     broken TEXT                    the message about a line
 *     origin PATH NAME               where a setting stands
 *     buffers PATH                   shared_buffers only, and where it stands
 *     last-start TEXT, start LINE    the command line in postmaster.opts, and that of a unit
 *     asks 16 TEXT                   whether a server with this version ("-": unknown) and file is asked
 *     answer TEXT                    its answer, with shared_buffers of 1GB
 */

#include "base/size.h"
#include "engines/postgresql/postgresql.h"
#include "engines/reader.h"
#include "support/sources.h"
#include "support/story.h"

enum { FILES_MAX = 24 };

static bool want_all(const char *name) {
        (void) name;
        return true;
}

static bool want_buffers(const char *name) {
        return strcmp(name, "shared_buffers") == 0;
}

/* "name=value name=value". */
static const char *settings_text(Arena *arena, const Settings *settings) {
        Text text = text_in(arena);

        VEC_FOREACH(setting, settings)
                text_printf(&text, "%s%s=%s", text.length > 0 ? " " : "", setting->name,
                            setting->value);
        return text_string(&text);
}

/* ---- stories ---- */

typedef struct Story {
        Arena *arena;
        TestFile files[FILES_MAX];
} Story;

#define VERB(name, words) STORY_VERB(name, words, Story, story)

/* The settings of a file with this text, or the message. */
static const char *read_conf(Arena *arena, const char *text) {
        const Sources *sources = TEST_SOURCES(arena, {"/c/p.conf", text});
        Settings settings = {};
        const char *wrong =
                postgresql_conf_read(arena, sources, "/c/p.conf", want_all, &settings, NULL);

        return wrong ? wrong : settings_text(arena, &settings);
}

VERB(do_read, "read broken") {
        const char *text = story_text(line, 0);

        if (text_equals(line->words[0], "broken"))
                text = arena_printf(line->arena, "b = 1\n\n%s\n", text);
        return read_conf(line->arena, text);
}

VERB(do_file, "file unreadable") {
        return story_change_files(line, story->files, FILES_MAX);
}

VERB(do_conf, "conf origin buffers") {
        const Sources *sources =
                test_sources(line->arena, story->files, test_files_count(story->files, FILES_MAX));
        bool is_buffers = text_equals(line->words[0], "buffers");
        Settings settings = {};
        const char *wrong = postgresql_conf_read(line->arena, sources, line->words[1],
                                                 is_buffers ? want_buffers : want_all, &settings,
                                                 NULL);

        if (wrong)
                return wrong;
        if (text_equals(line->words[0], "origin"))
                return settings_find(&settings, line->words[2])->origin;
        const char *text = settings_text(line->arena, &settings);

        return is_buffers ? arena_printf(line->arena, "%s (%s)", text, settings.items[0].origin)
                          : text;
}

static const char *command_text(Arena *arena, const PostgresqlCommand *command) {
        return arena_printf(arena, "%s%s%s", settings_text(arena, &command->settings),
                            command->directory ? " in " : "",
                            command->directory ? command->directory : "");
}

VERB(do_last_start, "last-start") {
        const Sources *sources =
                TEST_SOURCES(line->arena, {"/d/postmaster.opts", story_text(line, 0)});
        PostgresqlCommand command = {};
        const char *wrong = postgresql_command_of_last_start(line->arena, sources,
                                                             "/d/postmaster.opts", &command);

        return wrong ? wrong : command_text(line->arena, &command);
}

/* "SETTINGS in DIRECTORY; PROGRAM, the server"; PGDATA is /data. */
VERB(do_start, "start") {
        const Sources *sources = TEST_SOURCES(
                line->arena,
                {"/usr/lib/systemd/system/p.service",
                 arena_printf(line->arena, "[Service]\nEnvironment=PGDATA=/data\nExecStart=%s\n",
                              story_text(line, 0))});
        PostgresqlCommand command = {};

        postgresql_command_of_unit(unit_file_read(line->arena, sources, "p.service"), &command);
        return arena_printf(line->arena, "%s; %s%s", command_text(line->arena, &command),
                            command.program ? command.program : "-",
                            command.is_server ? ", the server" : "");
}

static Gathered gathered_with(Arena *arena, const char *version, const char *conf) {
        Gathered gathered = {
                .version = version, .data_directory = "/d", .config_file = "/d/postgresql.conf"};
        const Sources *sources = TEST_SOURCES(arena, {"/d/postgresql.conf", conf});

        assert_null(postgresql_conf_read(arena, sources, "/d/postgresql.conf", want_all,
                                         &gathered.settings, NULL));
        return gathered;
}

VERB(do_asks, "asks") {
        const char *version = text_equals(line->words[1], "-") ? NULL : line->words[1];
        Gathered gathered = gathered_with(line->arena, version, story_text(line, 1));
        Question question;

        return story_yes(engine_reader(engine_find("postgresql"))
                                 ->ask(line->arena, &gathered, 2 * MIB, &question));
}

/* "540 pages", which are exact, or the message. */
VERB(do_answer, "answer") {
        Gathered gathered = gathered_with(line->arena, "16", "shared_buffers = 1GB\n");
        Sizing sizing = {.pages = 4711};
        const char *wrong =
                engine_reader(engine_find("postgresql"))
                        ->answer(line->arena, &gathered, story_text(line, 0), 2 * MIB, &sizing);

        if (wrong) {
                assert_int_equal(sizing.pages, 4711);
                return wrong;
        }
        assert_int_equal(sizing.bytes, sizing.pages * 2 * MIB);
        assert_true(sizing.is_exact && !sizing.caveat && sizing.steps.n == 1);
        return arena_printf(line->arena, "%" PRIu64 " pages", sizing.pages);
}

STORY_TEST(stories, "unit/engines/postgresql/grammar", .size = sizeof(Story))

/* ---- what no story can say ---- */

TEST(long_value) {
        assert_text(
                read_conf(arena, arena_printf(arena, "\nshared_buffers = '%05000d'", 1)),
                "/c/p.conf:2: shared_buffers: the value is longer than 4K; write a shorter one");
}

TEST(binary) {
        static const char text[] = "a = 1\n# \0 within a comment\nb = \0 1\n";
        const Sources *sources =
                TEST_SOURCES(arena, {"/c", text, sizeof(text) - 1}, {"/locked", NULL});
        Settings settings = {};
        int unopened = 0;

        assert_contains(postgresql_conf_read(arena, sources, "/c", want_all, &settings, NULL),
                        "/c:3: not a line that PostgreSQL can read");
        assert_null(
                postgresql_conf_read(arena, sources, "/locked", want_all, &settings, &unopened));
        assert_int_equal(unopened, -EACCES);
        assert_null(postgresql_conf_read(arena, sources, "/no", want_all, &settings, &unopened));
        assert_int_equal(unopened, -ENOENT);
        assert_text(reader_fault(arena, -EFBIG),
                    "cannot be read: it is larger than 1M, which no configuration is");
        assert_text(reader_fault(arena, -EINVAL), "cannot be read: it is not a regular file");
}

/* Each of ten levels includes the next one ten times. */
TEST(include_bomb) {
        TestFile files[10];
        Settings settings = {};
        Text bomb = text_in(arena), many = text_in(arena);

        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
                Text text = text_in(arena);

                for (size_t k = 0; k < 10; k++)
                        text_printf(&text, "include '%zu'\n", i + 1);
                files[i] = (TestFile){arena_printf(arena, "/%zu", i),
                                      i + 1 < ARRAY_LEN(files) ? text.string : "a = 1", 0};
        }
        assert_contains(postgresql_conf_read(arena, test_sources(arena, files, ARRAY_LEN(files)),
                                             "/0", want_all, &settings, NULL),
                        ": more than 512 files are included, which no configuration does");
        for (size_t i = 0; i < 5000; i++) {
                text_add(&many, "shared_buffers = 1\n");
                text_add(&bomb, "other = 1\n");
        }
        assert_contains(read_conf(arena, many.string), "/c/p.conf:4097: shared_buffers: too many");
        const Sources *sources = TEST_SOURCES(arena, {"/c", bomb.string});

        settings = (Settings){};
        assert_null(postgresql_conf_read(arena, sources, "/c", want_buffers, &settings, NULL));
        assert_int_equal(settings.n, 0);
}

/* ---- gather ---- */

typedef struct Found {
        Gathered gathered;
        const char *wrong;
} Found;

static Found gather(Arena *arena, const Sources *sources, EngineTarget target) {
        Found found = {.gathered.problems = diags_in(arena)};

        found.wrong = engine_reader(engine_find("postgresql"))
                              ->gather(arena, engine_find("postgresql"), &target, sources,
                                       &found.gathered);
        return found;
}

/* "VALUE (ORIGIN)". */
static const char *setting_text(Arena *arena, const Found *found, const char *name) {
        const Setting *setting = settings_find(&found->gathered.settings, name);

        return setting ? arena_printf(arena, "%s (%s)", setting->value, setting->origin) : NULL;
}

/* The relevant part of a real pg_control, after other numbers. */
TEST(pg_control) {
        struct {
                uint64_t before[7];
                double float_format;
                uint32_t block, segment, wal_block, wal_segment;
        } control = {{4711}, 1234567.0, 8192, 131072, 8192, 64 << 20};
        const TestFile files[] = {
                {"/d/postgresql.conf", "shared_buffers = 4GB\n", 0},
                {"/d/PG_VERSION", "15\n", 0},
                {"/d/global/pg_control", (const char *) &control, sizeof(control)}};
        const Sources *sources = test_sources(arena, files, ARRAY_LEN(files));
        const Engine *engine = engine_find("postgresql");
        Found found = gather(arena, sources, (EngineTarget){.data_directory = "/d"});
        Sizing usual, large;

        assert_text(setting_text(arena, &found, "wal_segment_size"),
                    "67108864 (/d/global/pg_control)");
        assert_null(setting_text(arena, &found, "block_size"));
        assert_null(engine_size(engine, arena, &found.gathered.settings, 2 * MIB, &large));
        control.wal_segment = 16 << 20;
        found = gather(arena, sources, (EngineTarget){.data_directory = "/d"});
        assert_null(setting_text(arena, &found, "wal_segment_size"));
        assert_null(engine_size(engine, arena, &found.gathered.settings, 2 * MIB, &usual));
        assert_true(large.pages >= usual.pages + 24);
        control.block = 32 << 10;
        found = gather(arena, sources, (EngineTarget){.data_directory = "/d"});
        assert_contains(engine_size(engine, arena, &found.gathered.settings, 2 * MIB, &usual),
                        "block_size (/d/global/pg_control): the formula is for blocks of 8kB");
}

/* ---- ask and answer ---- */

static const char *join(Arena *arena, const SourceNames *names) {
        Text text = text_in(arena);

        VEC_FOREACH(name, names)
                text_printf(&text, "%s%s", text.length > 0 ? " " : "", *name);
        return text_string(&text);
}

TEST(ask) {
        const Engine *engine = engine_find("postgresql");
        Gathered gathered = gathered_with(arena, "16", "shared_buffers = 1GB\n");
        Question question = {};

        gathered.user = "pg";
        gathered.program = "/opt/pg/bin/postgres";
        settings_add(arena, &gathered.options, "config_file", "/d/postgresql.conf", "x:1");
        settings_add(arena, &gathered.options, "max_connections", "9", "x:1");
        settings_add(arena, &gathered.options, "huge_page_size", "2MB", "x:1");
        assert_true(engine_reader(engine)->ask(arena, &gathered, GIB, &question));
        assert_text(join(arena, &question.program),
                    "/opt/pg/bin/postgres /usr/lib/postgresql/16/bin/postgres "
                    "/usr/pgsql-16/bin/postgres /usr/bin/postgres");
        assert_text(join(arena, &question.arguments),
                    "-D /d -c config_file=/d/postgresql.conf -c max_connections=9 -c "
                    "huge_page_size=1048576kB -C shared_memory_size_in_huge_pages");
        assert_text(question.user, "pg");
        assert_text(question.data_directory, "/d");
}
