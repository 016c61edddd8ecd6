/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* PostgreSQL's files: the server's grammar (each case was tried on 15.18); their places on Debian, PGDG, Red Hat and
 * Patroni; their precedence; and questions to the server. */

#include "base/size.h"
#include "engines/postgresql/postgresql.h"
#include "engines/reader.h"
#include "support/sources.h"
#include "support/story.h"

#define CONF  "/etc/postgresql/15/main/postgresql.conf"
#define DATA  "/var/lib/postgresql/15/main"
#define PGDG  "/var/lib/pgsql/16/data"
#define UNITS "/usr/lib/systemd/system/"

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

/* ---- the grammar ---- */

/* The settings of a file with this text, or the message. */
static const char *read_conf(Arena *arena, const char *text) {
        const Sources *sources = TEST_SOURCES(arena, {"/c/p.conf", text});
        Settings settings = {};
        const char *wrong =
                postgresql_conf_read(arena, sources, "/c/p.conf", want_all, &settings, NULL);

        return wrong ? wrong : settings_text(arena, &settings);
}

PLAIN_VERB(do_read, "read broken") {
        const char *text = story_unescape(line->arena, line->rest);

        if (text_equals(line->words[0], "broken"))
                text = arena_printf(line->arena, "b = 1\n\n%s\n", text);
        return read_conf(line->arena, text);
}

STORY_TEST(grammar, "unit/engines/postgresql/grammar")

TEST(comment_in_another_encoding) {
        assert_text(read_conf(arena, "# caf\xE9\na = 1\n"), "a=1");
}

/* Text that is not a relevant setting is never shown. */
TEST(bad_values) {
        const char *const cases[][2] = {
                {"shared_buffers = '\\033[31m'",
                 "/c/p.conf:1: shared_buffers: the value has control "
                 "characters; remove them"},
                {"shared_buffers = '\\000'", "/c/p.conf:1: shared_buffers: the value has a NUL; "
                                             "remove it"},
                {"shared_buffers = '\xFF'",
                 "/c/p.conf:1: shared_buffers: the value is not UTF-8; write it in UTF-8"},
                {"shared_buffers = '\xC2\x9B'",
                 "/c/p.conf:1: shared_buffers: the value has control "
                 "characters; remove them"},
                {arena_printf(arena, "\nshared_buffers = '%05000d'", 1),
                 "/c/p.conf:2: shared_buffers: the value is longer than 4K; write a shorter one"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_text(read_conf(arena, cases[i][0]), cases[i][1]);
        const Sources *sources = TEST_SOURCES(
                arena, {"/c", "ssl_passphrase_command = 'echo \xFF\\033'\nShared_Buffers = 1MB\n"
                              "shared_buffers = 2MB\n"});
        Settings settings = {};

        assert_null(postgresql_conf_read(arena, sources, "/c", want_buffers, &settings, NULL));
        assert_text(settings_text(arena, &settings), "shared_buffers=2MB");
        assert_text(settings.items[0].origin, "/c:3");
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

/* ---- included files ---- */

TEST(includes) {
        const Sources *sources = TEST_SOURCES(
                arena,
                {"/c/p.conf", "a = 1\nINCLUDE 'one.conf'\ninclude_dir = 'conf.d'\n"
                              "include_if_exists 'no.conf'\ninclude_if_exists='/abs/x'\n"
                              "include_if_exists 'locked'\nz = 9\n"},
                {"/c/locked", NULL}, {"/c/one.conf", "a = 2\ninclude 'sub/two.conf'\n"},
                {"/c/sub/two.conf", "b = 1\ninclude 'three.conf'\n"},
                {"/c/sub/three.conf", "c = 1\n"}, {"/c/conf.d/10-b.conf", "d = 2\n"},
                {"/c/conf.d/02-a.conf", "d = 1\n"}, {"/c/conf.d/.hidden.conf", "broken"},
                {"/c/conf.d/backup.conf~", "broken"}, {"/c/conf.d/.conf", "broken"},
                {"/c/conf.d/dir.conf/x", "broken"}, {"/abs/x", "e = 1\n"});
        Settings settings = {};

        assert_null(postgresql_conf_read(arena, sources, "/c/p.conf", want_all, &settings, NULL));
        assert_text(settings_text(arena, &settings), "a=1 a=2 b=1 c=1 d=1 d=2 e=1 z=9");
        assert_text(settings_find(&settings, "c")->origin, "/c/sub/three.conf:1");
        assert_text(settings_find(&settings, "D")->origin, "/c/conf.d/10-b.conf:1");
}

TEST(broken_includes) {
        static const struct {
                const char *path, *sentence;
        } cases[] = {
                {"/missing", "/missing:2: includes /no.conf, which does not exist; the server does "
                             "not start like this: correct the name, or write include_if_exists"},
                {"/nodir", "/nodir:1: includes the directory /no.d, which cannot be read: No such "
                           "file or directory; the server does not start like this: correct the "
                           "name"},
                {"/empty", "/empty:1: includes nothing; write the name of a file, or remove the "
                           "line"},
                {"/own", "/own:1: /own is included by itself; remove this line"},
                {"/ring1", "/ring2:3: /ring1 is included by itself; remove this line"},
                {"/dots", "/././././././././././dots:1: more than 10 levels of files are "
                          "included, which the server does not read; include fewer"},
                {"/inner",
                 "/broken:1: not a line that PostgreSQL can read, so the server would not "
                 "start; write NAME = VALUE, with text in single quotes"},
                {"/lock", "/locked: cannot be read: Permission denied"},
                {"/control", "/control:1: the value has control characters; remove them"},
        };
        const Sources *sources = TEST_SOURCES(
                arena, {"/missing", "a = 1\ninclude 'no.conf'\n"}, {"/nodir", "include_dir 'no.d'"},
                {"/empty", "include ''"}, {"/own", "include 'own'"}, {"/ring1", "include 'ring2'"},
                {"/ring2", "\n\ninclude_if_exists 'ring1'"}, {"/inner", "include broken"},
                {"/broken", "x"}, {"/lock", "include locked"}, {"/locked", NULL},
                {"/control", "include '\\033'"}, {"/dots", "include './dots'"},
                {"/./dots", "include './dots'"}, {"/././dots", "include './dots'"},
                {"/./././dots", "include './dots'"}, {"/././././dots", "include './dots'"},
                {"/./././././dots", "include './dots'"}, {"/././././././dots", "include './dots'"},
                {"/./././././././dots", "include './dots'"},
                {"/././././././././dots", "include './dots'"},
                {"/./././././././././dots", "include './dots'"},
                {"/././././././././././dots", "include './dots'"},
                {"/./././././././././././dots", "x"});
        Settings settings = {};

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_text(postgresql_conf_read(arena, sources, cases[i].path, want_all, &settings,
                                                 NULL),
                            cases[i].sentence);
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

/* ---- command lines ---- */

static const char *last_start(Arena *arena, const char *text) {
        const Sources *sources = TEST_SOURCES(arena, {"/d/postmaster.opts", text});
        PostgresqlCommand command = {};
        const char *wrong =
                postgresql_command_of_last_start(arena, sources, "/d/postmaster.opts", &command);

        if (wrong)
                return wrong;
        return arena_printf(arena, "%s%s%s", settings_text(arena, &command.settings),
                            command.directory ? " in " : "",
                            command.directory ? command.directory : "");
}

TEST(last_start) {
        static const char wrong[] = "/d/postmaster.opts: is not what the server writes; start the "
                                    "server once, which writes it again";
        static const struct {
                const char *text, *result;
        } cases[] = {
                {"/usr/lib/postgresql/15/bin/postgres \"-D\" \"" DATA
                 "\" \"-c\" \"config_file=" CONF "\" \"-c\" \"max_connections=1000\"\n",
                 "config_file=" CONF " max_connections=1000 in " DATA},
                /* Patroni */
                {"/usr/lib/postgresql/15/bin/postgres \"-D\" \"/data\" "
                 "\"--config_file=/data/postgresql.conf\" \"--port=5432\" "
                 "\"--max_connections=400\" \"--max-worker-processes=16\" "
                 "\"--cluster_name=a \"b\" c\"\n",
                 "config_file=/data/postgresql.conf port=5432 max_connections=400 "
                 "max_worker_processes=16 cluster_name=a \"b\" c in /data"},
                {"/usr/bin/postgres \"-B\" \"2048\" \"-N200\" \"-iB100\" \"-i\" \"-p\" \"-B\" "
                 "\"-cwork_mem=1MB\" \"-S\" \"64\" \"--\" \"-N5\"\n",
                 "shared_buffers=2048 max_connections=200 shared_buffers=100 work_mem=1MB"},
                {"/usr/bin/postgres\n", ""},
                {"/usr/bin/postgres \"-c\"", ""},
                {"/usr/bin/postgres \"-c\" \"nothing\" \"-D\" \"relative\"", ""},
                {"/usr/bin/postgres \"-c\" \"a=b", "a=b"},
                {"", wrong},
                {"postgres \"-c\" \"a=1\"", wrong},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_text(last_start(arena, cases[i].text), cases[i].result);
}

TEST(start_of_unit) {
        static const struct {
                const char *start, *result, *program;
                bool is_server;
        } cases[] = {
                {"/usr/pgsql-16/bin/postgres -D ${PGDATA} -c shared_buffers=8GB",
                 "shared_buffers=8GB in /data", "/usr/pgsql-16/bin/postgres", true},
                {"/usr/bin/postmaster -D ${PGDATA}", " in /data", "/usr/bin/postgres", true},
                {"/usr/bin/numactl --interleave=all /opt/pg/bin/postgres -N 7", "max_connections=7",
                 "/opt/pg/bin/postgres", true},
                {"/opt/pg/bin/pg_ctl start -D ${PGDATA} -s -o \"-p 5432 -c 'a=x y'\" -w -t 300",
                 "a=x y in /data", "/opt/pg/bin/postgres", false},
                {"/usr/bin/pg_ctl --pgdata=/d --options=\"-c a=\\\"1\\\\\\\"2\\\"\" start",
                 "a=1\"2 in /d", "/usr/bin/postgres", false},
                {"-/usr/bin/pg_ctlcluster --skip-systemctl-redirect -o \"-N 9\" 15-main start",
                 "max_connections=9", NULL, false},
                {"/usr/bin/patroni /etc/patroni.yml", "", NULL, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Sources *sources = TEST_SOURCES(
                        arena,
                        {UNITS "p.service",
                         arena_printf(arena, "[Service]\nEnvironment=PGDATA=/data\nExecStart=%s\n",
                                      cases[i].start)});
                UnitFile *unit = unit_file_read(arena, sources, "p.service");
                PostgresqlCommand command = {};

                postgresql_command_of_unit(unit, &command);
                assert_text(arena_printf(arena, "%s%s%s", settings_text(arena, &command.settings),
                                         command.directory ? " in " : "",
                                         command.directory ? command.directory : ""),
                            cases[i].result);
                assert_text(command.program, cases[i].program);
                assert_int_equal(command.is_server, cases[i].is_server);
        }
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

static Gathered gathered_with(Arena *arena, const char *version, const char *conf) {
        Gathered gathered = {
                .version = version, .data_directory = "/d", .config_file = "/d/postgresql.conf"};
        const Sources *sources = TEST_SOURCES(arena, {"/d/postgresql.conf", conf});

        assert_null(postgresql_conf_read(arena, sources, "/d/postgresql.conf", want_all,
                                         &gathered.settings, NULL));
        return gathered;
}

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

TEST(nothing_to_ask) {
        static const struct {
                const char *version, *conf;
        } cases[] = {
                {"14", ""},
                {"9.6", ""},
                {NULL, ""},
                {"16", "huge_pages = off"},
                {"16", "huge_page_size = 1GB"},
                {"16", "shared_memory_type = sysv"},
        };
        Question question;

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Gathered gathered = gathered_with(arena, cases[i].version, cases[i].conf);

                assert_false(engine_reader(engine_find("postgresql"))
                                     ->ask(arena, &gathered, 2 * MIB, &question));
        }
        /* The server is asked even if the formula refuses the settings, because the server may accept them. */
        Gathered gathered = gathered_with(arena, "16", "max_connections = 1kB");

        assert_true(
                engine_reader(engine_find("postgresql"))->ask(arena, &gathered, 2 * MIB, &question));
}

TEST(answer) {
        const Engine *engine = engine_find("postgresql");
        Gathered gathered = gathered_with(arena, "16", "shared_buffers = 1GB\n");
        Sizing sizing = {};

        assert_null(engine_reader(engine)->answer(arena, &gathered, "540\n", 2 * MIB, &sizing));
        assert_int_equal(sizing.pages, 540);
        assert_int_equal(sizing.bytes, 540 * 2 * MIB);
        assert_true(sizing.is_exact);
        assert_null(sizing.caveat);
        assert_int_equal(sizing.steps.n, 1);
}

TEST(nonsense) {
        static const char none[] =
                "the server was asked for its number of huge pages and did not print one";
        static const struct {
                const char *output, *sentence;
        } cases[] = {
                {"", none},
                {"0\n", none},
                {"540 pages\n", none},
                {"540\n541\n", none},
                {"-540\n", none},
                {"5e9\n", none},
                {"9223372036854775807\n", none},
                {"99999999999999999999\n", none},
                {"\033[31m540\n", none},
                {"-1\n", "the server says that it cannot use huge pages on this host"},
                {"511\n", "the server says it needs 511 pages of 2M, but shared_buffers alone "
                          "takes 512"},
        };
        Gathered gathered = gathered_with(arena, "16", "shared_buffers = 1GB\n");
        Sizing sizing = {.pages = 4711};

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_text(engine_reader(engine_find("postgresql"))
                                    ->answer(arena, &gathered, cases[i].output, 2 * MIB, &sizing),
                            cases[i].sentence);
        assert_int_equal(sizing.pages, 4711);
}
