/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Settings from a file alone: a flat mapping of JSON or YAML, or the product's own form; nothing beside the file. */

#include "engines/reader.h"
#include "support/sources.h"
#include "support/testing.h"

#define PATH "/srv/settings"

static const char *gather(Arena *arena, const char *engine, const Sources *sources,
                          const char *path, Gathered *ret) {
        const EngineTarget target = {.config_file = path, .is_alone = true};

        *ret = (Gathered){.problems = diags_in(arena)};
        return settings_file_gather(arena, engine_find(engine), &target, sources, ret);
}

/* "NAME=VALUE@LINE NAME=VALUE@LINE" of a file that is read to the end. */
static const char *settings_of(Arena *arena, const char *engine, const char *path,
                               const Sources *sources) {
        Text text = text_in(arena);
        Gathered gathered;
        const char *wrong = gather(arena, engine, sources, path, &gathered);

        assert_null(wrong);
        VEC_FOREACH(setting, &gathered.settings) {
                const char *colon = strrchr(setting->origin, ':');

                text_printf(&text, "%s%s=%s@%s", text_string(&text)[0] ? " " : "", setting->name,
                            setting->value, colon ? colon + 1 : setting->origin);
        }
        return text_string(&text);
}

TEST(mappings) {
        static const struct {
                const char *engine, *text, *settings;
        } rows[] = {
                /* JSON */
                {"postgresql", "{\"shared_buffers\": \"8GB\", \"max_connections\": 300}",
                 "shared_buffers=8GB@1 max_connections=300@1"},
                {"postgresql", "\n{\n  \"shared_buffers\" : \"8GB\",\r\n\t\"port\":\"4MB\"\n}\n",
                 "shared_buffers=8GB@3"},
                {"mysql", "{\"innodb-buffer-pool-size\":4294967296,\"large_pages\":true}",
                 "innodb-buffer-pool-size=4294967296@1 large_pages=true@1"},
                {"postgresql", "{\"shared_preload_libraries\": \"a\\\\b\\/c\\\"d\"}",
                 "shared_preload_libraries=a\\b/c\"d@1"},
                {"postgresql", "{\"wal_buffers\": -1}", "wal_buffers=-1@1"},
                /* YAML */
                {"postgresql", "shared_buffers: 8GB\n", "shared_buffers=8GB@1"},
                {"postgresql",
                 "---\n# ours\n\nshared_buffers: 8GB # a quarter\nmax_connections: '300'",
                 "shared_buffers=8GB@4 max_connections=300@5"},
                {"postgresql", "--- # ours\n\"shared_buffers\": \"8GB\"\nport: 5432\r\n",
                 "shared_buffers=8GB@2"},
                {"postgresql", "shared_preload_libraries: 'a''b#c'\nhuge_pages : on",
                 "shared_preload_libraries=a'b#c@1 huge_pages=on@2"},
                {"postgresql", "{shared_buffers: 8GB, max_connections: 300,}",
                 "shared_buffers=8GB@1 max_connections=300@1"},
                {"jvm", "Xmx: 31g\nUseLargePages: true\n", "Xmx=31g@1 UseLargePages=true@2"},
                {"oracle", "orders.sga_target: 12G\n'*.sga_target': 8G\nsegments: 4\n",
                 "orders.sga_target=12G@1 *.sga_target=8G@2 segments=4@3"},
                {"generic", "memory: 8G\n", "memory=8G@1"},
                {"db2", "{\"memory\": \"8G\"}", "memory=8G@1"},
                /* autobase's list */
                {"postgresql",
                 "postgresql_parameters:\n"
                 "  - { option: \"shared_buffers\", value: \"8GB\" } # a quarter\n"
                 "  # - { option: \"huge_pages\", value: \"off\" }\n"
                 "  - {value: '300', option: max_connections}\n",
                 "shared_buffers=8GB@2 max_connections=300@4"},
                {"postgresql",
                 "port: 5432\nparameters:\n- { option: wal_buffers, value: 16MB }\nhuge_pages: on\n",
                 "wal_buffers=16MB@3 huge_pages=on@4"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_text(settings_of(arena, rows[i].engine, PATH,
                                        TEST_SOURCES(arena, {PATH, rows[i].text, 0})),
                            rows[i].settings);
}

/* Each with the line, the setting and what to write. */
TEST(mistakes) {
        static const char nested[] =
                "its value is not a single word or text in quotes; write NAME: "
                "VALUE, without lists, mappings and templates";
        static const char indented[] =
                "this line is indented, and so part of another value; write NAME: VALUE lines only";
        static const char no_setting[] = "this is not a setting; write NAME: VALUE";
        static const char no_option[] = "write - { option: NAME, value: VALUE }";
        const struct {
                const char *engine, *text, *where, *wrong;
        } rows[] = {
                {"postgresql", "a: 1\nb:\n  c: 2\n", ":2: b: ", nested},
                {"postgresql", "a: 1\n\n  b: 2\n", ":3: ", indented},
                {"postgresql", "a: [1, 2]\n", ":1: a: ", nested},
                {"postgresql", "a: {b: 1}\n", ":1: a: ", nested},
                {"postgresql", "a: {{ memory }}MB\n", ":1: a: ", nested},
                {"postgresql", "a: &x 1\n", ":1: a: ", nested},
                {"postgresql", "a: |\n  text\n", ":1: a: ", nested},
                {"postgresql", "a: 1\nshared_buffers:\n", ":2: shared_buffers: ", nested},
                {"postgresql", "shared_buffers:\nb: 1\n", ":1: shared_buffers: ", nested},
                {"postgresql", "a: 'no end\nb: 1\n", ":1: a: ", nested},
                {"postgresql", "{\"a\": {\"b\": 1}}", ":1: a: ", nested},
                {"postgresql", "{\n\"a\": 1,\n\"b\": []}", ":3: b: ", nested},
                {"postgresql", "{\"a\": ", ":1: a: ", nested},
                {"postgresql", "{\"a\": 1 \"b\": 2}",
                 ":1: a: ", "a ',' or a '}' is missing after this"},
                {"postgresql", "{\"a\": \"1\" \"b\": 2}",
                 ":1: a: ", "a ',' or a '}' is missing after this"},
                {"postgresql", "{\"a\": 1\n", ":2: a: ", "a ',' or a '}' is missing after this"},
                {"postgresql", "{\"a\" 1}", ":1: ", no_setting},
                {"postgresql", "{", ":1: ", no_setting},
                {"postgresql", "{,}", ":1: ", no_setting},
                {"postgresql", "{}}", ":1: ", "text follows the mapping; remove it"},
                {"postgresql", "{}\n{}", ":2: ", "text follows the mapping; remove it"},
                {"postgresql", "a: 1\nshared_buffers = 8GB\n", ":2: ", no_setting},
                {"postgresql", "a: 1\n- x\n", ":2: ", no_setting},
                {"postgresql", "a: 'x' y\n",
                 ":1: ", "more than one setting in a line; break the line"},
                {"postgresql", "p:\n  - option: a\n    value: b\n", ":2: ", no_option},
                {"postgresql", "p:\n  - { option: a }\n", ":2: ", no_option},
                {"postgresql", "p:\n  - shared_buffers\n", ":2: ", no_option},
                {"postgresql", "p:\n  - { option: a, value: [b] }\n", ":2: value: ", nested},
                {"postgresql", "work_mem: 1\nwork-mem: 2\n",
                 ":2: work-mem: ", PATH ":1 sets this, too; remove one of the two"},
                {"postgresql", "{\"a\": 1,\n\"A\": 1}",
                 ":2: A: ", PATH ":1 sets this, too; remove one of the two"},
                {"postgresql", "p:\n- { option: a, value: 1 }\n- { option: a, value: 1 }\n",
                 ":3: a: ", PATH ":2 sets this, too; remove one of the two"},
                {"postgresql", "a: 1\nb: \x1b[2J\n", ":2: ", "this is not text in UTF-8"},
                {"postgresql", "a: \xff\n", ":1: ", "this is not text in UTF-8"},
                {"postgresql", "port: 5432\n", ": ",
                 "none of these settings matters to the size of PostgreSQL; 'hugeplanctl size --json' lists those that do"},
                {"postgresql", "{}", ": ",
                 "none of these settings matters to the size of PostgreSQL; 'hugeplanctl size --json' lists those that do"},
                /* What has no form of its own. */
                {"generic", "memory = 8G\n", ":1: ", no_setting},
                {"generic", "", ": ",
                 "none of these settings matters to the size of a program of your own; 'hugeplanctl size --json' lists those that do"},
        };
        Gathered gathered;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const char *wrong = gather(arena, rows[i].engine,
                                           TEST_SOURCES(arena, {PATH, rows[i].text, 0}), PATH,
                                           &gathered);

                assert_text(wrong, arena_printf(arena, PATH "%s%s", rows[i].where, rows[i].wrong));
        }
        assert_contains(gather(arena, "postgresql",
                               TEST_SOURCES(arena, {PATH, "a: 1\n\0b: 2\n", 11}), PATH, &gathered),
                        PATH ":2: this is not text");
        assert_contains(
                gather(arena, "postgresql", TEST_SOURCES(arena, {PATH, NULL, 0}), PATH, &gathered),
                PATH ": cannot be read: Permission denied");
        assert_contains(
                gather(arena, "postgresql", TEST_SOURCES(arena, {"/x", "", 0}), PATH, &gathered),
                PATH ": cannot be read: No such file or directory");
}

/* Files of which each but the one that is named, and what it includes, would change the answer. */
TEST(own_forms) {
        const Sources *sources = TEST_SOURCES(
                arena,
                {"/etc/postgresql/16/main/postgresql.conf",
                 "# a: 1\nmax_connections 300\ndata_directory = '/data'\ninclude_dir 'conf.d'\n",
                 0},
                {"/etc/postgresql/16/main/conf.d/a.conf", "shared_buffers = 8GB\n", 0},
                {"/etc/postgresql/16/main/postgresql.auto.conf", "shared_buffers = 1GB\n", 0},
                {"/data/postgresql.auto.conf", "shared_buffers = 1GB\n", 0},
                {"/data/PG_VERSION", "17\n", 0},
                {"/data/postmaster.opts", "\"-c\" \"max_connections=9\"\n", 0},
                {"/srv/my.cnf",
                 "!include /srv/more\n[client]\nuser=x\n[mysqld]\ninnodb-buffer-pool-size=4G\n", 0},
                {"/srv/more", "[mysqld]\nlarge-pages\n", 0},
                {"/etc/my.cnf", "[mysqld]\ninnodb-buffer-pool-size=1G\n", 0},
                {"/usr/lib/systemd/system/mysqld.service",
                 "[Unit]\nDescription=MySQL 8.0.36\n[Service]\nExecStart=/usr/sbin/mysqld --innodb-buffer-pool-size=2G\n",
                 0},
                {"/var/lib/mysql/mysqld-auto.cnf",
                 "{\"a\": {\"innodb_buffer_pool_size\": {\"Value\": \"1\"}}}", 0},
                {"/var/lib/mysql/mysql_upgrade_info", "8.0.36", 0},
                {"/srv/initORDERS.ora", "*.sga_target=12G\nIFILE=/srv/more.ora\n", 0},
                {"/srv/more.ora", "ORDERS.use_large_pages='ONLY'\n", 0},
                {"/etc/oratab", "OTHER:/opt/oracle:Y\n", 0},
                {"/srv/jvm.options", "-Xmx31g\n-XX:+UseLargePages\n", 0},
                {"/usr/bin/java", "-> /opt/java/bin/java", 0},
                {"/opt/java/release", "JAVA_VERSION=\"17.0.9\"\n", 0});

        assert_text(
                settings_of(arena, "postgresql", "/etc/postgresql/16/main/postgresql.conf",
                            sources),
                "server_version=16@/etc/postgresql/16/main/postgresql.conf max_connections=300@2 "
                "data_directory=/data@3 shared_buffers=8GB@1");
        assert_text(settings_of(arena, "mysql", "/srv/my.cnf", sources),
                    "large_pages=ON@2 innodb_buffer_pool_size=4G@5");
        assert_text(settings_of(arena, "oracle", "/srv/initORDERS.ora", sources),
                    "sga_target=12G@1 use_large_pages=ONLY@1");
        assert_text(settings_of(arena, "jvm", "/srv/jvm.options", sources),
                    "Xmx=31g@1 UseLargePages=true@2");
}

/* What a server of these would do without is told, and does not keep it from being sized. */
TEST(large_pages) {
        Gathered gathered;
        const Sources *sources =
                TEST_SOURCES(arena, {PATH, "[mysqld]\ninnodb_buffer_pool_size=1G\n", 0});

        assert_null(gather(arena, "mariadb", sources, PATH, &gathered));
        assert_int_equal(gathered.settings.n, 1);
        assert_int_equal(gathered.problems.list.n, 1);
        assert_contains(gathered.problems.list.items[0].text, "add large-pages to [mariadbd]");
}

/* An include that cannot be followed, and what is no file of the product: as the engines' readers say it. */
TEST(own_mistakes) {
        static const struct {
                const char *engine, *text, *wrong;
        } rows[] = {
                {"postgresql", "include 'x.conf'\n",
                 PATH ":1: includes /srv/x.conf, which does not exist"},
                {"postgresql", "shared_buffers = \n",
                 PATH ":1: not a line that PostgreSQL can read"},
                {"mysql", "innodb_buffer_pool_size=1G\n", PATH ":1: an option before any [group]"},
                {"mysql", "!includedir /x\n", PATH ":1: the included directory /x cannot be read"},
                {"oracle", "sga_target=1G\nifile=/x.ora\n", PATH ":2: /x.ora cannot be read"},
                {"oracle", "processes=100\n", "neither sga_max_size nor sga_target is set"},
                {"jvm", "-Xmx1g\n", "there is no -XX:+UseLargePages"},
        };
        Gathered gathered;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_contains(gather(arena, rows[i].engine,
                                       TEST_SOURCES(arena, {PATH, rows[i].text, 0}), PATH,
                                       &gathered),
                                rows[i].wrong);
}
