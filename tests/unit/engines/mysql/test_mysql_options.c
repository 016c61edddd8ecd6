/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Option files, compared with mariadbd 10.11.19 on the same bytes (--print-defaults for files, --verbose --help for
 * values), and malformed files. */

#include "engines/mysql/mysql.h"
#include "support/sources.h"
#include "support/story.h"

enum { FILES_MAX = 8 };

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
typedef struct Story {
        Arena *arena;
        TestFile files[FILES_MAX];
} Story;

#define VERB(name, words) STORY_VERB(name, words, Story, story)

/* NAME ["-": none] [VALUE] */
VERB(do_set, "set") {
        const char *name = text_equals(line->words[1], "-") ? "" : line->words[1];

        return setting_of(line->arena, name,
                          text_equals(line->words[2], "''") ? "" : line->words[2]);
}

VERB(do_file, "file no-file unreadable") {
        return story_change_files(line, story->files, FILES_MAX);
}

static Reading reading_at(const StoryLine *line, const Story *story) {
        return read_from(
                line->arena,
                test_sources(line->arena, story->files, test_files_count(story->files, FILES_MAX)),
                line->words[1]);
}

/* PATH: the options of a file and those that it includes, or the message. */
VERB(do_options, "options") {
        const Reading reading = reading_at(line, story);

        return reading.wrong ? reading.wrong : reading.options;
}

/* The options of a file with this text. */
VERB(do_read, "read") {
        story->files[0] = (TestFile){
                "/a.cnf", arena_printf(line->arena, "[mysqld]\n%s", story_text(line, 0))};
        const Reading reading =
                read_from(line->arena, test_sources(line->arena, story->files, 1), "/a.cnf");

        return reading.wrong ? reading.wrong : reading.options;
}

/* PATH: where the options stand. */
VERB(do_origins, "origins") {
        const Reading reading = reading_at(line, story);
        Text text = text_in(line->arena);

        VEC_FOREACH(option, &reading.files.options)
                text_add_word(&text, option->origin);
        return text_string(&text);
}

VERB(do_problems, "problems") {
        const Reading reading = reading_at(line, story);

        return problems_text(line->arena, &reading.files.problems);
}

/* PATH: "0 files; does not exist": how many are known, and why it was not opened. */
VERB(do_unopened, "unopened") {
        const Sources *sources =
                test_sources(line->arena, story->files, test_files_count(story->files, FILES_MAX));
        MysqlFiles files = {.problems = diags_in(line->arena)};
        const char *unopened = NULL;

        assert_null(mysql_files_read(line->arena, sources, line->words[1], &files, &unopened));
        return arena_printf(line->arena, "%zu files%s%s; %s", (size_t) files.paths.n,
                            unopened ? "; " : "", unopened ? unopened : "",
                            problems_text(line->arena, &files.problems));
}

STORY_TEST(stories, "unit/engines/mysql/options", .size = sizeof(Story))

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
