/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Option files, compared with mariadbd 10.11.19 on the same bytes (--print-defaults for files, --verbose --help for
 * values), and malformed files. */

#include "engines/mysql/mysql.h"
#include "support/sources.h"
#include "support/story.h"

typedef struct Reading {
        MysqlFiles files;
        const char *wrong;
        const char *options; /* "--name=value --name", those of [mysqld] */
} Reading;

static Reading read_from(Arena *arena, const Sources *sources, const char *path) {
        Reading reading = {.files = {.problems = diags_in(arena)}};
        Text text = text_in(arena);
        const char *unopened;

        reading.wrong = mysql_files_read(arena, sources, path, &reading.files, &unopened);
        assert_null(unopened);
        VEC_FOREACH(option, &reading.files.options) {
                assert_non_null(option->origin);
                if (!text_equals(option->group, "mysqld"))
                        continue;
                text_printf(&text, "%s--%s", text.length > 0 ? " " : "", option->name);
                if (option->value)
                        text_printf(&text, "=%s", option->value);
        }
        reading.options = text_string(&text);
        return reading;
}

static const char *options_of(Arena *arena, const char *text) {
        Reading reading = read_from(arena, TEST_SOURCES(arena, {"/a.cnf", text}), "/a.cnf");

        assert_text(reading.wrong, NULL);
        return reading.options;
}

static const char *wrong_of(Arena *arena, const char *text) {
        return read_from(arena, TEST_SOURCES(arena, {"/a.cnf", text}), "/a.cnf").wrong;
}

TEST(origins) {
        const Sources *sources = TEST_SOURCES(arena, {"/a.cnf", "[mysqld]\n!include /b.cnf\nx=1"},
                                              {"/b.cnf", "\n[mysqld]\n\ny=2\n"});
        Reading reading = read_from(arena, sources, "/a.cnf");

        assert_text(reading.wrong, NULL);
        assert_text(reading.options, "--y=2 --x=1");
        assert_text(reading.files.options.items[0].origin, "/b.cnf:4");
        assert_text(reading.files.options.items[1].origin, "/a.cnf:3");
        assert_int_equal(reading.files.paths.n, 2);
}

/* ---- includes ---- */

/* Files are read in the order of bytes, only names that end in ".cnf"; afterwards the group of the outer file
 * continues. */
TEST(include_directory) {
        const Sources *sources = TEST_SOURCES(
                arena, {"/a.cnf", "[mysqld]\n!includedir /d/\t \nend=1"},
                {"/d/10.cnf", "[mysqld]\na=1"}, {"/d/9.cnf", "[mysqld]\na=2"},
                {"/d/.h.cnf", "[mysqld]\na=3"}, {"/d/x.CNF", "[mysqld]\na=4"},
                {"/d/x.cnf.bak", "[mysqld]\na=5"}, {"/d/a.b.cnf", "[client]\n[mysqld]\na=6"},
                {"/d/Z.cnf", "[mysqld]\na=7"});
        Reading reading = read_from(arena, sources, "/a.cnf");

        assert_text(reading.wrong, NULL);
        assert_text(reading.options, "--a=3 --a=1 --a=2 --a=7 --a=6 --end=1");
        assert_text(reading.files.options.items[0].origin, "/d/.h.cnf:2");
}

/* Relative paths begin at the server's working directory, which is "/" for a service. */
TEST(relative_include) {
        const Sources *sources =
                TEST_SOURCES(arena, {"/etc/a.cnf", "!include b.cnf\n!include etc/c.cnf"},
                             {"/b.cnf", "[mysqld]\nb"}, {"/etc/c.cnf", "[mysqld]\nc"});

        assert_text(read_from(arena, sources, "/etc/a.cnf").options, "--b --c");
}

TEST(missing_include) {
        const Sources *sources =
                TEST_SOURCES(arena, {"/a.cnf", "[mysqld]\n!include /none.cnf\nlarge-pages"});
        Reading reading = read_from(arena, sources, "/a.cnf");

        assert_text(reading.wrong, NULL);
        assert_text(reading.options, "--large-pages");
        assert_contains(problems_text(arena, &reading.files.problems), "/a.cnf:2: ");
        assert_contains(problems_text(arena, &reading.files.problems), "/none.cnf");
}

TEST(file_is_not_there) {
        MysqlFiles files = {.problems = diags_in(arena)};
        const char *unopened = NULL;

        assert_text(mysql_files_read(arena, TEST_SOURCES(arena, {"/a", ""}), "/b.cnf", &files,
                                     &unopened),
                    NULL);
        assert_text(unopened, "does not exist");
        assert_int_equal(files.paths.n, 0);
}

/* ---- what is refused ---- */

TEST(refused) {
        static const struct {
                const char *text, *sentence;
        } cases[] = {
                {"large-pages\n", "/a.cnf:1: an option before any [group]"},
                {"\n\n[mysqld\nx", "/a.cnf:3: a group without"},
                {"\xef\xbb\xbf[mysqld]\nx", "/a.cnf:1: an option before any [group]"},
                {"[mysqld]\n!include\n", "/a.cnf:2: a path must follow"},
                {"[mysqld]\n!include   \n", "/a.cnf:2: a path must follow"},
                {"!includedir /none.d\n", "/a.cnf:1: the included directory /none.d"},
                {"[mysqld]\nx\n!include /a.cnf\n", "/a.cnf:3: /a.cnf is included by itself"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_contains(wrong_of(arena, cases[i].text), cases[i].sentence);
}

TEST(secrets_are_not_quoted) {
        assert_null(strstr(wrong_of(arena, "password=hunter2\n"), "hunter2"));
        assert_null(strstr(wrong_of(arena, "[hunter2\n"), "hunter2"));
}

/* The servers skip these lines; hugeplan reports them. */
TEST(unreadable) {
        const Sources *sources =
                TEST_SOURCES(arena, {"/a.cnf", "[mysqld]\n!include /b.cnf\n!includedir /d\nx=1\n"},
                             {"/b.cnf", NULL}, {"/d/c.cnf", NULL}, {"/d/e.cnf", "[mysqld]\ny=2\n"});
        Reading reading = read_from(arena, sources, "/a.cnf");
        const char *unopened;

        assert_text(reading.wrong, NULL);
        assert_text(reading.options, "--y=2 --x=1");
        assert_text(problems_text(arena, &reading.files.problems),
                    "/a.cnf:2: the included /b.cnf cannot be read: Permission denied; the server "
                    "skips it\n/a.cnf:3: the included /d/c.cnf cannot be read: Permission denied; "
                    "the server skips it");
        reading.files = (MysqlFiles){.problems = diags_in(arena)};
        assert_null(mysql_files_read(arena, sources, "/b.cnf", &reading.files, &unopened));
        assert_text(unopened, "cannot be read: Permission denied");
        assert_contains(problems_text(arena, &reading.files.problems), "/b.cnf cannot be read");
}

TEST(binary) {
        static const char bytes[] = "[mysqld]\nx=1\n\0\1\2\n";
        const Sources *sources = TEST_SOURCES(arena, {"/a.cnf", bytes, .size = sizeof(bytes) - 1});

        assert_contains(read_from(arena, sources, "/a.cnf").wrong, "/a.cnf:3: a NUL byte");
}

/* The last line of a file of SIZE bytes counts like any other. */
static const char *reading_of_large(Arena *arena, size_t size) {
        static const char end[] = "\nlast=1\n";
        char *text = arena_alloc(arena, size + 1);

        memset(text, '#', size);
        memcpy(text, "[mysqld]\n", 9);
        for (size_t i = 80; i < size - sizeof(end); i += 80)
                text[i] = '\n';
        memcpy(text + size - (sizeof(end) - 1), end, sizeof(end));
        Reading reading = read_from(arena, TEST_SOURCES(arena, {"/a.cnf", text}), "/a.cnf");

        return reading.wrong ? reading.wrong : reading.options;
}

TEST(large_file) {
        assert_contains(reading_of_large(arena, SOURCE_BYTES_MAX), "last=1");
        assert_text(reading_of_large(arena, SOURCE_BYTES_MAX + 1),
                    "/a.cnf: cannot be read: it is larger than 1M, which no configuration is");
}

TEST(circle_of_two) {
        const Sources *sources = TEST_SOURCES(arena, {"/d/a.cnf", "[mysqld]\na\n!include /d/b.cnf"},
                                              {"/d/b.cnf", "\n!includedir /d"});

        assert_contains(read_from(arena, sources, "/d/a.cnf").wrong,
                        "/d/b.cnf:2: /d/a.cnf is included by itself");
}

/* Each of N files includes the next. */
static const char *wrong_of_chain(Arena *arena, unsigned n) {
        TestFile files[16];

        for (unsigned i = 0; i < n; i++)
                files[i] = (TestFile){arena_printf(arena, "/%u.cnf", i),
                                      i + 1 < n ? arena_printf(arena, "!include /%u.cnf", i + 1)
                                                : "[mysqld]\nx",
                                      0};
        return read_from(arena, test_sources(arena, files, n), "/0.cnf").wrong;
}

TEST(depth) {
        assert_text(wrong_of_chain(arena, 11), NULL);
        assert_contains(wrong_of_chain(arena, 12), "/10.cnf:1: more than 10 levels");
}

/* Every file under /d is included by every line of /a.cnf. */
TEST(too_many_files) {
        Text text = text_in(arena);
        TestFile files[33] = {};

        for (unsigned i = 0; i < 32; i++) {
                text_add(&text, "!includedir /d\n");
                files[i + 1] = (TestFile){arena_printf(arena, "/d/%u.cnf", i), "", 0};
        }
        files[0] = (TestFile){"/a.cnf", text.string, 0};
        assert_contains(
                read_from(arena, test_sources(arena, files, ARRAY_LEN(files)), "/a.cnf").wrong,
                "more than 512 files are included");
}

/* ---- names and values ---- */

static const MysqlName name_rows[] = {
        {.name = "key_buffer_size", .shortest = "key_b", .of_key_cache = true},
        {.name = "innodb_buffer_pool_size"},
        {.name = "large_pages", .shortest = "lar", .kind = MYSQL_SWITCH},
        {.name = "datadir", .shortest = "data", .kind = MYSQL_TEXT, .letter = 'h'},
};

static const MysqlNames names = {name_rows, ARRAY_LEN(name_rows)};

/* "NAME=VALUE"; "-": the option is not used. */
static const char *setting_of(Arena *arena, const char *name, const char *value) {
        const MysqlOption option = {.name = name, .value = value, .origin = "x:1"};
        Settings settings = {};

        if (!mysql_option_set(arena, &option, &names, &settings))
                return "-";
        assert_int_equal(settings.n, 1);
        assert_text(settings.items[0].origin, "x:1");
        return arena_printf(arena, "%s=%s", settings.items[0].name, settings.items[0].value);
}

/* NAME ["-": none] [VALUE] */
PLAIN_VERB(do_set, "set") {
        const char *name = text_equals(line->words[1], "-") ? "" : line->words[1];

        return setting_of(line->arena, name,
                          text_equals(line->words[2], "''") ? "" : line->words[2]);
}

PLAIN_VERB(do_read, "read") {
        return options_of(line->arena, arena_printf(line->arena, "[mysqld]\n%s",
                                                    story_unescape(line->arena, line->rest)));
}

STORY_TEST(stories, "unit/engines/mysql/options")

TEST(words) {
        static const char *const words[] = {"--key_buffer_size",
                                            "16M",
                                            "word",
                                            "-h/srv/my",
                                            "-h",
                                            "/srv/other",
                                            "--large-pages",
                                            "--skip-networking",
                                            "--datadir=/x",
                                            "--innodb_buffer_pool_size",
                                            "--large-pages=0",
                                            "-x",
                                            "--",
                                            "--key_buffer_size=1M"};
        MysqlOptions options =
                mysql_options_of_words(arena, words, ARRAY_LEN(words), &names, "u:1");
        Text text = text_in(arena);

        VEC_FOREACH(option, &options)
                text_printf(&text, "%s=%s ", option->name, option->value ? option->value : "-");
        assert_text(text.string,
                    "key_buffer_size=16M datadir=/srv/my datadir=/srv/other large-pages=- "
                    "skip-networking=- datadir=/x innodb_buffer_pool_size=- large-pages=0 ");
}

/* An empty word ends where it begins. */
TEST(empty_word) {
        const char *const words[] = {arena_strdup(arena, ""), "-h/srv/my"};
        MysqlOptions options =
                mysql_options_of_words(arena, words, ARRAY_LEN(words), &names, "u:1");

        assert_int_equal(options.n, 1);
        assert_text(options.items[0].value, "/srv/my");
}
