/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Settings from one file: a flat mapping in JSON or YAML, or the product's own format. */

#include "engines/reader.h"
#include "support/sources.h"
#include "support/story.h"

#define PATH "/srv/settings"

static const char *gather(Arena *arena, const char *engine, const Sources *sources,
                          const char *path, Gathered *ret) {
        const EngineTarget target = {.config_file = path, .is_alone = true};

        *ret = (Gathered){.problems = diags_in(arena)};
        return settings_file_gather(arena, engine_find(engine), &target, sources, ret);
}

/* "NAME=VALUE@LINE NAME=VALUE@LINE" of a file without a mistake. */
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

PLAIN_VERB(do_settings, "settings wrong") {
        const char *text =
                story_unescape(line->arena, line->words[2] ? strchr(line->rest, ' ') + 1 : "");
        const Sources *sources = TEST_SOURCES(line->arena, {PATH, text, 0});
        Gathered gathered;

        return text_equals(line->words[0], "wrong")
                       ? gather(line->arena, line->words[1], sources, PATH, &gathered)
                       : settings_of(line->arena, line->words[1], PATH, sources);
}

STORY_TEST(stories, "unit/engines/settings_file")

/* Texts that no line of a story can have. */
TEST(mistakes) {
        Gathered gathered;

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

/* Any other file than the named one and its includes would change the answer. */
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

/* Settings that these servers ignore are reported, and do not prevent a size. */
TEST(large_pages) {
        Gathered gathered;
        const Sources *sources =
                TEST_SOURCES(arena, {PATH, "[mysqld]\ninnodb_buffer_pool_size=1G\n", 0});

        assert_null(gather(arena, "mariadb", sources, PATH, &gathered));
        assert_int_equal(gathered.settings.n, 1);
        assert_int_equal(gathered.problems.list.n, 1);
        assert_contains(gathered.problems.list.items[0].text, "add large-pages to [mariadbd]");
}

/* An include that cannot be followed, and a file of another product: messages of the engines' readers. */
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
