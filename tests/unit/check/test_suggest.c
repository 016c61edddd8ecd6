/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/suggest.h"

#include "base/size.h"
#include "support/gatherer.h"
#include "support/sources.h"
#include "support/testing.h"

static const char host_text[] = "sizes 2M\nnode 0 total=16G free=15G\n";

static Suggestions suggest_for(Arena *arena, const Config *config, const Sources *sources,
                               const Processes *processes, const char *segments) {
        const SourcesGatherer here = figures_gatherer(sources);
        static const Processes no_processes;
        const SuggestInput input = {
                .arena = arena,
                .config = config ? config : config_make(arena, NULL),
                .topology = host_make(arena, host_text),
                .sources = sources,
                .gatherer = &here.gatherer,
                .processes = processes ? processes : &no_processes,
                .sysv_segments = segments,
        };

        return suggest(&input);
}

static const Suggestion *only(const Suggestions *suggestions) {
        assert_int_equal(suggestions->n, 1);
        return &suggestions->items[0];
}

static Process process_of(Arena *arena, const char *command, const char *unit, const char *line) {
        Process process = {.pid = 4711, .command = command, .unit = unit};
        char *word;

        while ((word = text_next_word(arena, &line, " ")))
                *vec_push(arena, &process.arguments) = word;
        return process;
}

static const TestFile debian[] = {
        {"/etc/postgresql/15/main/postgresql.conf",
         "data_directory = '/var/lib/postgresql/15/main'\nshared_buffers = 2GB\n"
         "max_connections = 1000\n"},
        {"/etc/postgresql/15/main/start.conf", "# x\nauto\n"},
        {"/var/lib/postgresql/15/main/PG_VERSION", "15\n"},
};

/* hugeplan accepts its own drop-in without a problem. */
static void assert_accepted(Arena *arena, const Suggestion *suggestion) {
        const Config *config =
                config_make(arena, strrchr(suggestion->path, '/') + 1, suggestion->text, NULL);

        assert_text(problems_text(arena, &config->problems), "");
        assert_int_equal(config->n_instances, 1);
        assert_text(config->instances[0].unit, suggestion->unit);
        assert_ptr_equal(config->instances[0].engine, suggestion->engine);
}

TEST(debian_cluster) {
        Suggestions found = suggest_for(arena, NULL, test_sources(arena, debian, ARRAY_LEN(debian)),
                                        NULL, NULL);
        const Suggestion *one = only(&found);

        assert_text(one->title, "PostgreSQL 15, cluster main");
        assert_text(one->path, "/etc/hugeplan.d/20-postgresql-15-main.conf");
        assert_text(one->unit, "postgresql@15-main.service");
        assert_true(one->pages >= 1081 && one->pages < 1200);
        assert_contains(one->text,
                        "shared_buffers = 2GB in /etc/postgresql/15/main/postgresql.conf:2");
        assert_contains(one->text, "\nMemory=auto\n");
        assert_accepted(arena, one);
}

/* The unit of PostgreSQL's manual, under another name. */
TEST(found_by_program) {
        const Sources *sources = TEST_SOURCES(
                arena,
                {"/etc/systemd/system/orders-db.service",
                 "[Service]\nType=notify\nUser=postgres\n"
                 "ExecStart=/usr/local/pgsql/bin/postgres -D /usr/local/pgsql/data\n"},
                {"/usr/local/pgsql/data/PG_VERSION", "16\n"},
                {"/usr/local/pgsql/data/postgresql.conf", "shared_buffers = 2GB\n"},
                {"/etc/systemd/system/exporter.service",
                 "[Service]\nExecStart=/usr/bin/postgres_exporter /srv/postgres\n"},
                {"/etc/systemd/system/backup.service",
                 "[Service]\nExecStart=/usr/bin/rsync -a /srv/postgres /backup/mysqld\n"},
                {"/etc/systemd/system/reports.service",
                 "[Service]\nUser=mysql\nExecStart=numactl --interleave=all /opt/mysql/bin/mysqld "
                 "--defaults-file=/etc/reports.cnf\n"},
                {"/etc/reports.cnf",
                 "[mysqld]\nlarge-pages\ninnodb_buffer_pool_size=1G\ndatadir=/srv/reports\n"});
        Suggestions found = suggest_for(arena, NULL, sources, NULL, NULL);

        assert_int_equal(found.n, 2);
        assert_text(found.items[0].unit, "orders-db.service");
        assert_text(found.items[0].path, "/etc/hugeplan.d/20-orders-db.conf");
        assert_true(found.items[0].pages > 1040 && found.items[0].pages < 1080);
        assert_accepted(arena, &found.items[0]);
        assert_text(found.items[1].unit, "reports.service");
        assert_text(found.items[1].engine->name, "mysql");
        assert_int_equal(found.items[1].pages, 8 * 66);
}

TEST(described_already) {
        const Config *config = config_line(
                arena, "20-pg Engine=postgresql Memory=2G Unit=postgresql@15-main.service");
        Suggestions found = suggest_for(arena, config,
                                        test_sources(arena, debian, ARRAY_LEN(debian)), NULL, NULL);
        const Suggestion *one = only(&found);

        assert_null(one->path);
        assert_text(one->described, "/etc/hugeplan.d/20-pg.conf");
}

/* The cluster that another unit runs is not proposed once more when that unit is described. */
TEST(described_twin) {
        const TestFile files[] = {
                debian[0],
                debian[1],
                debian[2],
                {"/etc/systemd/system/pg.service",
                 "[Service]\nExecStart=/usr/lib/postgresql/15/bin/postgres "
                 "-D /etc/postgresql/15/main\n"},
        };
        const Config *config = config_line(arena, "20-pg Engine=postgresql Unit=pg.service");
        Suggestions found = suggest_for(arena, config, test_sources(arena, files, ARRAY_LEN(files)),
                                        NULL, NULL);

        assert_int_equal(found.n, 2);
        VEC_FOREACH(suggestion, &found) {
                assert_null(suggestion->path);
                assert_true(suggestion->described || strstr(suggestion->why_not, "pg.service"));
        }
}

/* Oracle ships no unit, so that the instance is known by its parameter file. */
TEST(described_by_file) {
        const Config *config = config_line(
                arena, "20-ora Engine=oracle Unit=ora.service ConfigFile=/u01/dbs/initorcl.ora");
        Suggestions found = suggest_for(
                arena, config,
                TEST_SOURCES(arena, {"/etc/oratab", "orcl:/u01:N\n"},
                             {"/u01/dbs/initorcl.ora", "sga_target=4G\nuse_large_pages=only\n"}),
                NULL, NULL);

        assert_text(only(&found)->described, "/etc/hugeplan.d/20-ora.conf");
}

/* A running postmaster of a known cluster is the same database. */
TEST(running) {
        Processes processes = {};

        *vec_push(arena, &processes) =
                process_of(arena, "postgres", "postgresql@15-main.service",
                           "/usr/lib/postgresql/15/bin/postgres -D /var/lib/postgresql/15/main");
        Suggestions found = suggest_for(arena, NULL, test_sources(arena, debian, ARRAY_LEN(debian)),
                                        &processes, NULL);

        only(&found);

        /* Without a known cluster, the postmaster is one. */
        const TestFile data[] = {
                {"/srv/pg/postgresql.conf", "shared_buffers = 1GB\n"},
                {"/srv/pg/PG_VERSION", "15\n"},
        };
        processes = (Processes){};
        *vec_push(arena, &processes) =
                process_of(arena, "postgres", "pg.service", "postgres -D /srv/pg");
        found = suggest_for(arena, NULL, test_sources(arena, data, ARRAY_LEN(data)), &processes,
                            NULL);
        assert_text(only(&found)->unit, "pg.service");
        assert_contains(only(&found)->text, "DataDirectory=/srv/pg\n");
        assert_accepted(arena, only(&found));
}

/* No suggestion has values that would break the file or change its meaning. */
/* In a container the same path belongs to another cluster, so the host's files are not read for it. */
TEST(containers) {
        Processes processes = {};
        Process process = process_of(arena, "postgres", "libpod-12.scope",
                                     "postgres -D /var/lib/postgresql/15/main");

        process.is_elsewhere = true;
        process.peak_bytes = 3 * GIB;
        *vec_push(arena, &processes) = process;
        process.pid = 4712;
        *vec_push(arena, &processes) = process;
        Suggestions found = suggest_for(arena, NULL, test_sources(arena, debian, ARRAY_LEN(debian)),
                                        &processes, NULL);

        assert_int_equal(found.n, 3);
        assert_text(found.items[0].unit, "postgresql@15-main.service");
        assert_non_null(found.items[0].path);
        assert_null(found.items[1].path);
        assert_text(found.items[1].found, "process 4711");
        assert_contains(found.items[1].why_not, "another root directory");
        assert_true(found.items[1].peak_bytes == 3 * GIB);
        assert_text(found.items[2].found, "process 4712");
}

TEST(hostile_processes) {
        static const char *const lines[] = {
                "postgres -D /srv/p\ng",   "postgres -D relative", "postgres -D", "postgres",
                "java -XX:+UseLargePages",
        };

        for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
                Processes processes = {};
                Process process = process_of(arena, *lines[i] == 'j' ? "java" : "postgres",
                                             "a\nb.service", lines[i]);

                *vec_push((Arena *) arena, &processes) = process;
                Suggestions found =
                        suggest_for(arena, NULL, TEST_SOURCES(arena, {"/x", ""}), &processes, NULL);

                assert_int_equal(found.n, 0);
        }
}

/* The gate would refuse this database, so it is not proposed. */
TEST(unknown_size) {
        const TestFile broken[] = {
                {"/etc/postgresql/15/main/postgresql.conf", "shared_buffers = many\n"},
        };
        Suggestions found = suggest_for(arena, NULL, test_sources(arena, broken, ARRAY_LEN(broken)),
                                        NULL, NULL);

        assert_null(only(&found)->path);
        assert_contains(only(&found)->why_not, "shared_buffers");
}

TEST(transparent_only) {
        const TestFile files[] = {
                {"/usr/lib/systemd/system/mongod.service",
                 "[Service]\nExecStart=/usr/bin/mongod\n"},
        };
        Suggestions found =
                suggest_for(arena, NULL, test_sources(arena, files, ARRAY_LEN(files)), NULL, NULL);
        const Suggestion *one = only(&found);

        assert_text(one->unit, "mongod.service");
        assert_null(strstr(one->text, "Memory="));
        assert_accepted(arena, one);
}

/* The report says that it was found, and why there is nothing to do. */
TEST(nothing_wanted) {
        const TestFile files[] = {
                {"/usr/lib/systemd/system/valkey-server.service",
                 "[Service]\nExecStart=/usr/bin/valkey-server\n"},
        };
        Suggestions found =
                suggest_for(arena, NULL, test_sources(arena, files, ARRAY_LEN(files)), NULL, NULL);
        const Suggestion *one = only(&found);

        assert_text(one->title, "Valkey");
        assert_null(one->path);
        assert_contains(one->why_not, "it needs none");
}

TEST(segments) {
        static const char segments[] =
                "key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap\n"
                "0 1 1600 536870912 4711 4711 3 1000 1000 1000 1000 9 9 9 0 0\n"
                "0 2 1600 2097152 4711 4711 3 1000 1000 1000 1000 9 9 9 0 0\n"
                "0 3 1600 536870912 99 99 3 1000 1000 1000 1000 9 9 9 0 0\n";
        Processes processes = {};

        *vec_push((Arena *) arena, &processes) =
                process_of(arena, "informix", "informix.service", "oninit -v");
        Suggestions found =
                suggest_for(arena, NULL, TEST_SOURCES(arena, {"/x", ""}), &processes, segments);
        const Suggestion *one = only(&found);

        assert_contains(one->text, "\nEngine=generic\n");
        assert_contains(one->text, "\nMemory=514M\n");
        assert_accepted(arena, one);
}
