/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Memory=auto of MariaDB and MySQL: hosts as Debian, Red Hat and the vendors set them up. */

#include "engines/reader.h"
#include "support/sources.h"
#include "support/testing.h"

#define USR  "/usr/lib/systemd/system/"
#define ETC  "/etc/systemd/system/"
#define DATA "/var/lib/mysql/"

/* Of Debian's mariadb-server 10.11.19, what matters. */
#define DEBIAN_UNIT                                                                        \
        "[Unit]\nDescription=MariaDB 10.11.19 database server\n[Service]\nUser=mysql\n"    \
        "EnvironmentFile=-/run/mariadb-wsrep-new-cluster\n"                                \
        "ExecStart=/bin/sh -c \"set -f; [ ! -e /usr/bin/galera_recovery ] && VAR= || \\\n" \
        " VAR=`/usr/bin/galera_recovery`; [ $? -eq 0 ] || exit 1; \\\n"                    \
        " exec /usr/sbin/mariadbd $MYSQLD_OPTS $_WSREP_NEW_CLUSTER $VAR\"\n"

#define DEBIAN_INSTANCES                                                                        \
        "[Unit]\nDescription=MariaDB 10.11.19 database server (multi-instance %I)\n[Service]\n" \
        "ExecStart=/usr/sbin/mariadbd $MYSQLD_MULTI_INSTANCE $MYSQLD_OPTS\n"                    \
        "Environment='MYSQLD_MULTI_INSTANCE=--defaults-group-suffix=.%I'\nUser=mysql\n"

#define DEBIAN_FILES                                                                          \
        {"/etc/mysql/my.cnf", "-> /etc/mysql/mariadb.cnf"},                                   \
                {"/etc/mysql/mariadb.cnf",                                                    \
                 "[client-server]\nsocket = /run/mysqld/mysqld.sock\n\n"                      \
                 "!includedir /etc/mysql/conf.d/\n!includedir /etc/mysql/mariadb.conf.d/\n"}, \
                {"/etc/mysql/conf.d/mysql.cnf", "[mysql]\n"}, {                               \
                "/etc/mysql/mariadb.conf.d/50-mysqld_safe.cnf",                               \
                        "[mysqld_safe]\nlarge-pages=0\nkey_buffer_size=1T\n"                  \
        }

#define SERVER_FILE "/etc/mysql/mariadb.conf.d/50-server.cnf"

static const char *gather_target(Arena *arena, const char *engine, const EngineTarget *target,
                                 const Sources *sources, Gathered *ret) {
        *ret = (Gathered){.problems = diags_in(arena)};
        return engine_reader(engine_find(engine))
                ->gather(arena, engine_find(engine), target, sources, ret);
}

/* The settings as "NAME=VALUE ", what counts only; fails where they cannot be had. */
static const char *settings_text(Arena *arena, const Gathered *gathered) {
        Text text = text_in(arena);

        VEC_FOREACH(setting, &gathered->settings) {
                assert_non_null(setting->origin);
                if (settings_find(&gathered->settings, setting->name) == setting)
                        text_printf(&text, "%s%s=%s", text.length > 0 ? " " : "", setting->name,
                                    setting->value);
        }
        return text_string(&text);
}

static const char *gather(Arena *arena, const char *engine, const char *unit,
                          const Sources *sources, Gathered *ret) {
        const char *wrong =
                gather_target(arena, engine, &(EngineTarget){.unit = unit}, sources, ret);

        assert_text(wrong, NULL);
        return settings_text(arena, ret);
}

static const char *wrong_of(Arena *arena, const char *engine, const EngineTarget *target,
                            const Sources *sources) {
        Gathered gathered;
        const char *wrong = gather_target(arena, engine, target, sources, &gathered);

        assert_non_null(wrong);
        return wrong;
}

static const char *origin_of(const Gathered *gathered, const char *name) {
        return settings_find(&gathered->settings, name)->origin;
}

static uint64_t pages_of(Arena *arena, const char *engine, const Gathered *gathered) {
        Sizing sizing;

        assert_text(engine_size(engine_find(engine), arena, &gathered->settings, 2 * MIB, &sizing),
                    NULL);
        return sizing.pages;
}

/* ---- MariaDB ---- */

TEST(debian) {
        const Sources *sources = TEST_SOURCES(
                arena, DEBIAN_FILES,
                {SERVER_FILE, "[server]\n[mysqld]\npid-file=/x\n[mariadbd]\nlarge-pages\n"
                              "innodb-buffer-pool-size = 1G # of 4\n[mariadb-10.11]\nkey_buffer=0\n"
                              "[mariadb-10.6]\nkey_buffer=7G\n"},
                {USR "mariadb.service", DEBIAN_UNIT},
                {DATA "mysql_upgrade_info", "10.6.1-MariaDB"});
        Gathered gathered;

        assert_text(gather(arena, "mariadb", NULL, sources, &gathered),
                    "large_pages=ON innodb_buffer_pool_size=1G key_buffer_size=0 "
                    "server_version=10.11.19");
        assert_text(origin_of(&gathered, "innodb_buffer_pool_size"), SERVER_FILE ":6");
        assert_text(origin_of(&gathered, "server_version"), USR "mariadb.service:2");
        assert_text(gathered.version, "10.11.19");
        assert_text(gathered.data_directory, "/var/lib/mysql");
        assert_text(gathered.config_file, "/etc/mysql/my.cnf");
        assert_text(gathered.user, "mysql");
        assert_text(problems_text(arena, &gathered.problems), "");
        assert_int_equal(pages_of(arena, "mariadb", &gathered), 512 + 4 + 16 + 62);
}

/* Red Hat's unit, which is named by its alias; no script, and a file by the vendor. */
TEST(red_hat) {
        const Sources *sources = TEST_SOURCES(
                arena,
                {USR "mariadb.service", "[Unit]\nDescription=MariaDB 10.5 database server\n"
                                        "[Service]\nUser=mysql\nExecStart=/usr/libexec/mariadbd "
                                        "--basedir=/usr $MYSQLD_OPTS $_WSREP_NEW_CLUSTER\n"},
                {USR "mysqld.service", "-> mariadb.service"},
                {ETC "mariadb.service.d/opts.conf",
                 "[Service]\nEnvironment=\"MYSQLD_OPTS=--large-pages --key_buffer_size=8M\"\n"},
                {"/etc/my.cnf", "[client-server]\n!includedir /etc/my.cnf.d\n"},
                {"/etc/my.cnf.d/mariadb-server.cnf",
                 "[mysqld]\ndatadir=/srv/db/\nkey_buffer_size=64M\n"},
                {"/srv/db/mysql_upgrade_info", "10.5.29-MariaDB"});
        Gathered gathered;

        assert_text(gather(arena, "mariadb", "mysqld.service", sources, &gathered),
                    "datadir=/srv/db/ large_pages=ON key_buffer_size=8M server_version=10.5.29");
        assert_text(origin_of(&gathered, "key_buffer_size"), USR "mariadb.service:5");
        assert_text(origin_of(&gathered, "server_version"), "/srv/db/mysql_upgrade_info");
        assert_text(gathered.data_directory, "/srv/db");
        assert_text(gathered.config_file, "/etc/my.cnf");
}

TEST(instances) {
        const Sources *sources =
                TEST_SOURCES(arena, DEBIAN_FILES, {USR "mariadb@.service", DEBIAN_INSTANCES},
                             {SERVER_FILE, "[mariadbd]\nlarge-pages\nkey_buffer_size=16M\n"
                                           "[mariadbd.one]\nkey_buffer_size=32M\ndatadir=/srv/one\n"
                                           "[mariadb-10.11.one]\naria_pagecache_buffer_size=1M\n"
                                           "[mariadbd.two]\nkey_buffer_size=64M\n"});
        Gathered gathered;

        assert_text(gather(arena, "mariadb", "mariadb@one.service", sources, &gathered),
                    "large_pages=ON key_buffer_size=32M datadir=/srv/one "
                    "aria_pagecache_buffer_size=1M server_version=10.11.19");
        assert_text(gathered.data_directory, "/srv/one");
        assert_contains(gather(arena, "mariadb", "mariadb@two.service", sources, &gathered),
                        "key_buffer_size=64M");
}

/* What Debian's unit runs is a script: variables of the unit count in it, others are empty. */
TEST(variables_of_a_script) {
        const Sources *sources =
                TEST_SOURCES(arena, {USR "mariadb.service", DEBIAN_UNIT},
                             {ETC "mariadb.service.d/10.conf",
                              "[Service]\nEnvironment=\"MYSQLD_OPTS=--defaults-file=/srv/my.cnf "
                              "--skip-large-pages=0 --key-buffer-size 8M\"\n"},
                             {"/etc/mysql/my.cnf", "[mysqld]\nkey_buffer_size=1G\n"},
                             {"/srv/my.cnf", "[mysqld]\nkey_buffer_size=2G\n"});
        Gathered gathered;

        assert_text(gather(arena, "mariadb", NULL, sources, &gathered),
                    "large_pages=ON key_buffer_size=8M server_version=10.11.19");
        assert_text(gathered.config_file, "/srv/my.cnf");
}

TEST(order_of_files) {
        const Sources *sources = TEST_SOURCES(
                arena,
                {ETC "mariadb.service",
                 "[Service]\nUser=mysql\nEnvironment=MYSQL_HOME=/srv/home "
                 "MYSQL_GROUP_SUFFIX=.x\nExecStart=/usr/bin/numactl --interleave=all "
                 "/usr/sbin/mysqld --defaults-extra-file=/srv/extra.cnf\n"},
                {"/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"
                                "mysql:x:1:1:My,,,:/srv/user:/bin/false\n"},
                {"/etc/my.cnf", "[mysqld]\nkey_buffer_size=1M\nlarge-pages\n"},
                {"/etc/mysql/my.cnf", "[mysqld]\nkey_buffer_size=2M\n"},
                {"/srv/home/my.cnf", "[mysqld]\nkey_buffer_size=3M\n"},
                {"/srv/extra.cnf", "[mysqld]\nkey_buffer_size=4M\n[mysqld.x]\ndatadir=/d\n"},
                {"/srv/user/.my.cnf", "[mysqld]\nkey_buffer_size=5M\n"});
        Gathered gathered;
        Text values = text_in(arena);

        assert_text(gather(arena, "mariadb", NULL, sources, &gathered),
                    "large_pages=ON datadir=/d key_buffer_size=5M");
        VEC_FOREACH(setting, &gathered.settings)
                if (text_equals(setting->name, "key_buffer_size"))
                        text_add(&values, setting->value);
        assert_text(values.string, "1M2M3M4M5M");
}

/* ConfigFile= goes before what the unit names; DataDirectory= and User= likewise. */
TEST(target_goes_first) {
        const Sources *sources = TEST_SOURCES(
                arena,
                {USR "mariadb.service", "[Service]\nUser=mysql\n"
                                        "ExecStart=/usr/sbin/mariadbd --defaults-file=/none\n"},
                {"/srv/my.cnf", "[mysqld]\nlarge-pages\ndatadir=/d\nuser=other\n"},
                {"/etc/my.cnf", "[mysqld]\nkey_buffer_size=1G\n"});
        EngineTarget target = {.config_file = "/srv/my.cnf", .data_directory = "/data"};
        Gathered gathered;

        assert_text(gather_target(arena, "mariadb", &target, sources, &gathered), NULL);
        assert_text(settings_text(arena, &gathered), "large_pages=ON datadir=/d user=other");
        assert_text(gathered.data_directory, "/data");
        assert_text(gathered.user, "mysql");
        target.user = "me";
        assert_text(gather_target(arena, "mariadb", &target, sources, &gathered), NULL);
        assert_text(gathered.user, "me");
}

TEST(no_defaults) {
        const Sources *sources =
                TEST_SOURCES(arena,
                             {USR "mariadb.service", "[Service]\nExecStart=/usr/sbin/mariadbd "
                                                     "--no-defaults --large-pages -umy\n"},
                             {"/etc/my.cnf", "[mysqld]\nkey_buffer_size=1G\n"});
        Gathered gathered;

        assert_text(gather(arena, "mariadb", NULL, sources, &gathered), "large_pages=ON user=my");
        assert_text(gathered.user, "my");
        assert_text(gathered.config_file, NULL);
}

/* ---- versions ---- */

TEST(version_of_data) {
        static const char config[] = "[mysqld]\nlarge-pages\n[mariadb-10.6]\nkey_buffer_size=1M\n"
                                     "[mariadb-11.8]\nkey_buffer_size=2M\n";
        Gathered gathered;

        assert_text(gather(arena, "mariadb", NULL,
                           TEST_SOURCES(arena, {"/etc/my.cnf", config},
                                        {DATA "mariadb_upgrade_info", "11.8.6-MariaDB"},
                                        {DATA "mysql_upgrade_info", "10.6.1-MariaDB"}),
                           &gathered),
                    "large_pages=ON key_buffer_size=2M server_version=11.8.6");
        assert_text(origin_of(&gathered, "server_version"), DATA "mariadb_upgrade_info");
        assert_text(gather(arena, "mariadb", NULL,
                           TEST_SOURCES(arena, {"/etc/my.cnf", config},
                                        {DATA "mysql_upgrade_info", "10.6.1-MariaDB\n"}),
                           &gathered),
                    "large_pages=ON key_buffer_size=1M server_version=10.6.1");
        assert_text(problems_text(arena, &gathered.problems), "");
}

TEST(version_unknown) {
        const Sources *sources = TEST_SOURCES(
                arena,
                {"/etc/my.cnf", "[mysqld]\nlarge-pages\n[mariadb-10.6]\nkey_buffer_size=1M\n"},
                {DATA "mysql_upgrade_info", "junk"});
        Gathered gathered;

        assert_text(gather(arena, "mariadb", NULL, sources, &gathered),
                    "large_pages=ON key_buffer_size=1M");
        assert_text(gathered.version, NULL);
        assert_contains(problems_text(arena, &gathered.problems), "/etc/my.cnf:4");
        assert_contains(problems_text(arena, &gathered.problems), "[mariadb-10.6]");
}

/* What the unit says is no version: the data directory's counts, and without any the rule of today. */
TEST(version_that_is_none) {
        static const char *const names[] = {"10 database server", "99999999999999999999.5 server",
                                            "11. server", "banana"};
        Gathered gathered;

        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                const char *unit = arena_printf(arena,
                                                "[Unit]\nDescription=MariaDB %s\n[Service]\n"
                                                "ExecStart=/usr/sbin/mariadbd --large-pages\n",
                                                names[i]);

                gather(arena, "mariadb", NULL,
                       TEST_SOURCES(arena, {USR "mariadb.service", unit},
                                    {DATA "mariadb_upgrade_info", "10.6.7-MariaDB"}),
                       &gathered);
                assert_text(gathered.version, "10.6.7");
                gather(arena, "mariadb", NULL, TEST_SOURCES(arena, {USR "mariadb.service", unit}),
                       &gathered);
                assert_text(gathered.version, NULL);
                assert_true(pages_of(arena, "mariadb", &gathered) > 64);
        }
}

/* ---- MySQL ---- */

static const char mysql_config[] =
        "[mysqld]\nlarge-pages\ninnodb_buffer_pool_size=1G\n[mysqld-8.0]\ninnodb_page_size=4k\n"
        "[mariadb]\ninnodb_buffer_pool_size=2G\n[mysqld@one]\ninnodb_buffer_pool_size=512M\n";

TEST(mysql) {
        const Sources *sources = TEST_SOURCES(
                arena, {"/etc/mysql/my.cnf", mysql_config},
                {USR "mysql.service",
                 "[Unit]\nDescription=MySQL Community Server\n[Service]\nUser=mysql\n"
                 "ExecStart=/usr/sbin/mysqld\n"},
                {USR "mysqld@.service",
                 "[Service]\nUser=mysql\nExecStart=/usr/sbin/mysqld --defaults-group-suffix=@%I "
                 "$MYSQLD_OPTS\n"},
                {DATA "mysql_upgrade_info", "8.0.36"});
        Gathered gathered;

        assert_text(gather(arena, "mysql", NULL, sources, &gathered),
                    "large_pages=ON innodb_buffer_pool_size=1G innodb_page_size=4k "
                    "server_version=8.0.36");
        assert_contains(gather(arena, "mysql", "mysqld@one.service", sources, &gathered),
                        "innodb_buffer_pool_size=512M");
}

/* Both forms of the file; what is persisted goes before files and command line. */
TEST(mysql_persisted) {
        static const char *const texts[] = {
                "{ \"Version\" : 1 , \"mysql_server\" : { \"innodb_buffer_pool_size\" : { \"Value\" "
                ": \"4294967296\" , \"Metadata\" : { \"Timestamp\" : 1 , \"User\" : \"root\" } } , "
                "\"mysql_server_static_options\" : { \"innodb_page_size\" : { \"Value\" : \"8192\" "
                "} } } }",
                /* as 8.0.36 writes it */
                "{\"Version\": 2, \"mysql_static_variables\": {\"innodb_buffer_pool_size\": "
                "{\"Value\": \"4294967296\", \"Metadata\": {\"Host\": \"\", \"User\": \"boot\", "
                "\"Timestamp\": 1795278590803011}}, \"innodb_page_size\": {\"Value\": \"8192\", "
                "\"Metadata\": {}}}, \"mysql_dynamic_parse_early_variables\": {\"max_connections\": "
                "{\"Value\": \"77\", \"Metadata\": {}}}}",
        };

        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                const Sources *sources = TEST_SOURCES(
                        arena, {"/etc/my.cnf", mysql_config}, {DATA "mysqld-auto.cnf", texts[i]},
                        {DATA "mysql_upgrade_history", "{\"file_format\":\"1\",\"upgrade_history\":"
                                                       "[{\"version\":\"8.0.36\"},"
                                                       "{\"version\":\"8.4.2\"}]}"});
                Gathered gathered;

                gather(arena, "mysql", NULL, sources, &gathered);
                assert_text(settings_find(&gathered.settings, "innodb_buffer_pool_size")->value,
                            "4294967296");
                assert_text(origin_of(&gathered, "innodb_buffer_pool_size"),
                            DATA "mysqld-auto.cnf");
                assert_text(settings_find(&gathered.settings, "innodb_page_size")->value, "8192");
                assert_text(gathered.version, "8.4.2");
                assert_text(problems_text(arena, &gathered.problems), "");
        }
}

TEST(mysql_without_data_directory) {
        const Sources *sources = TEST_SOURCES(arena, {"/etc/my.cnf", mysql_config});
        Gathered gathered;

        gather(arena, "mysql", NULL, sources, &gathered);
        assert_contains(problems_text(arena, &gathered.problems),
                        "/var/lib/mysql: the data directory cannot be read");
}

TEST(mysql_refuses) {
        const EngineTarget target = {};
        Sizing sizing;
        Gathered gathered;

        assert_contains(wrong_of(arena, "mysql", &target,
                                 TEST_SOURCES(arena, {"/etc/my.cnf", mysql_config},
                                              {DATA "mysqld-auto.cnf", "{\"Version\":"})),
                        DATA "mysqld-auto.cnf: not the JSON");
        assert_contains(wrong_of(arena, "mysql", &target,
                                 TEST_SOURCES(arena, {"/etc/my.cnf", mysql_config},
                                              {DATA "mysqld-auto.cnf", NULL})),
                        DATA "mysqld-auto.cnf: cannot be read: Permission denied");
        gather(arena, "mysql", NULL,
               TEST_SOURCES(arena,
                            {"/etc/my.cnf", "[mysqld]\nlarge-pages\ninnodb_dedicated_server\n"},
                            {DATA "ibdata1", ""}),
               &gathered);
        assert_contains(
                engine_size(engine_find("mysql"), arena, &gathered.settings, 2 * MIB, &sizing),
                "innodb_dedicated_server (/etc/my.cnf:3): it sizes the pool");
}

/* ---- what is refused ---- */

TEST(large_pages_are_off) {
        const EngineTarget target = {};

        assert_text(
                wrong_of(arena, "mariadb", &target,
                         TEST_SOURCES(arena, DEBIAN_FILES, {SERVER_FILE, "[mariadbd]\nport=1\n"},
                                      {USR "mariadb.service", DEBIAN_UNIT})),
                "large_pages is not set, so that MariaDB takes no huge pages and the "
                "reservation would lie idle; add large-pages to [mariadbd] in " SERVER_FILE);
        assert_contains(wrong_of(arena, "mariadb", &target,
                                 TEST_SOURCES(arena, {"/etc/my.cnf", "[mysqld]\nlarge_pages=yes"})),
                        "large_pages (/etc/my.cnf:2) is off for MariaDB");
        assert_contains(wrong_of(arena, "mysql", &target,
                                 TEST_SOURCES(arena, {USR "mysqld.service",
                                                      "[Service]\nExecStart=/usr/sbin/mysqld\n"})),
                        "add large-pages to [mysqld] in /etc/my.cnf");
}

TEST(nothing_there) {
        const Sources *sources = TEST_SOURCES(arena, {"/etc/passwd", ""});

        assert_contains(wrong_of(arena, "mariadb", &(EngineTarget){}, sources),
                        "neither mariadb.service nor an option file such as /etc/my.cnf");
        assert_text(
                wrong_of(arena, "mariadb", &(EngineTarget){.config_file = "/srv/my.cnf"}, sources),
                "ConfigFile=: /srv/my.cnf is not there");
        assert_contains(
                wrong_of(arena, "mariadb", &(EngineTarget){.config_file = "my.cnf"}, sources),
                "no absolute path");
}

TEST(missing_file_of_the_unit) {
        const Sources *sources = TEST_SOURCES(
                arena, {USR "mariadb.service",
                        "[Service]\nExecStart=/usr/sbin/mariadbd --defaults-file=/srv/my.cnf\n"});

        assert_text(wrong_of(arena, "mariadb", &(EngineTarget){}, sources),
                    USR "mariadb.service:2: --defaults-file=: /srv/my.cnf is not there");
}

TEST(notes) {
        Gathered gathered;

        gather(arena, "mariadb", "none.service",
               TEST_SOURCES(arena, {"/etc/my.cnf", "[mysqld]\nlarge-pages\n"}), &gathered);
        assert_contains(problems_text(arena, &gathered.problems), "there is no unit none.service");
        gather(arena, "mariadb", NULL,
               TEST_SOURCES(
                       arena, {"/etc/my.cnf", "[mysqld]\nlarge-pages\n"},
                       {USR "mariadb.service", "[Service]\nExecStart=/usr/local/bin/run-db\n"}),
               &gathered);
        assert_contains(problems_text(arena, &gathered.problems),
                        USR "mariadb.service: no ExecStart= here names mariadbd");
}

/* Up to 10.4.5 MariaDB's program is called mysqld. */
TEST(program_that_tells_the_version) {
        const EngineTarget target = {.instance = "db", .unit = "mariadb.service"};
        const Sources *sources = TEST_SOURCES(
                arena, {USR "mariadb.service", "[Service]\nExecStart=/usr/libexec/mysqld\n"});
        Question question = {};

        version_ask(arena, engine_find("mariadb"), &target, sources, NULL, &question);
        const char *last = question.program.items[question.program.n - 1];

        assert_true(VEC_ANY(path, &question.program, text_equals(*path, "/usr/sbin/mariadbd")));
        assert_true(VEC_ANY(path, &question.program, text_equals(*path, "/usr/libexec/mysqld")));
        assert_text(last, "/usr/libexec/mysqld");
}
