/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether units start what instances name them for, and the ones that were meant. */

#include "support/sources.h"
#include "support/testing.h"
#include "units/unit_match.h"

#define DEBIAN_PG                                                                                  \
        {                                                                                          \
                "/lib/systemd/system/postgresql@.service",                                         \
                        "[Service]\nType=forking\nExecStart=-/usr/bin/pg_ctlcluster "              \
                        "--skip-systemctl-redirect %i start\nExecStop=/usr/bin/pg_ctlcluster %i\n" \
        }
#define DEBIAN_PG_ALL                                                                        \
        {                                                                                    \
                "/lib/systemd/system/postgresql.service",                                    \
                        "[Service]\nType=oneshot\nExecStart=/bin/true\nRemainAfterExit=on\n" \
        }
#define CLUSTER(name) \
        { "/etc/postgresql/15/" name "/postgresql.conf", "port = 5432\n" }
#define MARIA_TEMPLATE                                               \
        {                                                            \
                "/lib/systemd/system/mariadb@.service",              \
                        "[Service]\nExecStart=/usr/sbin/mariadbd "   \
                        "--defaults-group-suffix=.%I $MYSQLD_OPTS\n" \
        }
#define MARIA \
        { "/lib/systemd/system/mariadb.service", "[Service]\nExecStart=/usr/sbin/mariadbd\n" }
#define UNIT(name, command) \
        { "/etc/systemd/system/" name, "[Service]\nExecStart=" command "\n" }

enum { FILES_MAX = 8 };

typedef struct Case {
        const char *config, *other;
        const char *expected; /* NULL: nothing is said */
        TestFile files[FILES_MAX];
} Case;

static LoadedUnits load(Arena *arena, const Config *config, const Sources *sources) {
        LoadedUnits units = {};

        for (size_t i = 0; i < config->n_instances; i++) {
                const char *name = config->instances[i].unit;

                if (name)
                        *vec_push(arena, &units) = unit_search_loaded(
                                arena, name, unit_file_read(arena, sources, name));
        }
        return units;
}

static const Sources *sources_of(Arena *arena, const Case *c) {
        size_t n = 0;

        while (n < FILES_MAX && c->files[n].path)
                n++;
        return test_sources(arena, c->files, n);
}

static const char *judge(Arena *arena, const Case *c, bool is_asked) {
        const Config *config = config_make(arena, "20-db.conf", c->config, "30-other.conf",
                                           c->other ? c->other : "", NULL);
        const Sources *sources = sources_of(arena, c);
        const UnitSearch search = unit_search(sources);
        LoadedUnits units = load(arena, config, sources);
        Diags problems = diags_in(arena);

        assert_text(problems_text(arena, &config->problems), "");
        const UnitMatchInput input = {
                .config = config,
                .plan = plan_simple(arena, config,
                                    host_make(arena, "sizes 1G 2M\nnode 0 total=64G free=62G\n")),
                .search = is_asked ? &search : NULL,
                .is_asked = is_asked,
        };

        VEC_FOREACH(unit, &units)
                loaded_unit_judge_state(config, input.search, unit, &problems);
        unit_match_judge(arena, &input, &units, &problems);
        return problems.list.n > 0 ? problems_text(arena, &problems) : NULL;
}

#define PG(unit)    "[Instance]\nEngine=postgresql\nUnit=" unit "\nMemory=1G\n"
#define ORA(unit)   "[Instance]\nEngine=oracle\nUnit=" unit "\nMemory=1G\n"
#define MYSQL(unit) "[Instance]\nEngine=mysql\nUnit=" unit "\nMemory=1G\n"
#define MDB(unit)   "[Instance]\nEngine=mariadb\nUnit=" unit "\nMemory=1G\n"
#define JVM(unit)   "[Instance]\nEngine=jvm\nUnit=" unit "\nMemory=1G\n"
#define ANY(unit)   "[Instance]\nUnit=" unit "\nMemory=1G\n"
#define AT          "/etc/hugeplan.d/20-db.conf:3: Unit: "
#define CORRECT     "? Correct the line, then run 'systemctl daemon-reload' and 'hugeplanctl reload'"

static const Case cases[] = {
        /* ---- PostgreSQL ---- */
        {PG("postgresql@15-main.service"), .files = {DEBIAN_PG, CLUSTER("main")}},
        {PG("postgresql@15-man.service"),
         .expected = AT "postgresql@15-man.service is for a cluster that does not exist "
                        "(/etc/postgresql/15/man does not exist): no unit waits for the pages "
                        "of db; did you mean postgresql@15-main.service" CORRECT,
         .files = {DEBIAN_PG, CLUSTER("main"), CLUSTER("reports")}},
        /* One that is taken cannot be meant. */
        {PG("postgresql@15-man.service"), PG("postgresql@15-main.service"),
         .expected = AT "postgresql@15-man.service is for a cluster that does not exist "
                        "(/etc/postgresql/15/man does not exist): no unit waits for the pages "
                        "of db; did you mean postgresql@15-reports.service" CORRECT,
         .files = {DEBIAN_PG, CLUSTER("main"), CLUSTER("reports")}},
        {PG("postgresql@15-man.service"),
         .expected = AT "postgresql@15-man.service is for a cluster that does not exist "
                        "(/etc/postgresql/15/man does not exist): no unit waits for the pages "
                        "of db; name the unit that starts it; then run 'systemctl "
                        "daemon-reload' and 'hugeplanctl reload'",
         .files = {DEBIAN_PG}},
        {PG("postgresql@main.service"),
         .expected = AT "postgresql@main.service is not the VERSION-NAME of a cluster: no "
                        "unit waits for the pages of db; did you mean "
                        "postgresql@15-main.service" CORRECT,
         .files = {DEBIAN_PG, CLUSTER("main")}},
        /* Debian's unit for all of them starts none. */
        {PG("postgresql.service"),
         .expected = AT "postgresql.service starts /bin/true, which is not PostgreSQL: no "
                        "unit waits for the pages of db; did you mean "
                        "postgresql@15-main.service" CORRECT,
         .files = {DEBIAN_PG, DEBIAN_PG_ALL, CLUSTER("main")}},
        {PG("ssh.service"),
         .expected = AT "ssh.service starts /usr/sbin/sshd, which is not PostgreSQL: no "
                        "unit waits for the pages of db; did you mean "
                        "postgresql@15-main.service" CORRECT,
         .files = {DEBIAN_PG, CLUSTER("main"), UNIT("ssh.service", "/usr/sbin/sshd -D")}},
        {PG("pgbouncer.service"),
         .expected = AT "pgbouncer.service starts /usr/sbin/pgbouncer, which is not "
                        "PostgreSQL: no unit waits for the pages of db; name the unit that "
                        "starts it; then run 'systemctl daemon-reload' and 'hugeplanctl "
                        "reload'",
         .files = {UNIT("pgbouncer.service", "/usr/sbin/pgbouncer")}},
        {PG("mariadb.service"),
         .expected = AT "mariadb.service starts /usr/sbin/mariadbd, which is not "
                        "PostgreSQL: no unit waits for the pages of db; name the unit that "
                        "starts it; then run 'systemctl daemon-reload' and 'hugeplanctl "
                        "reload'",
         .files = {MARIA}},
        {PG("postgresql-16.service"),
         .files = {UNIT("postgresql-16.service",
                        "/usr/pgsql-16/bin/postgres -D ${PGDATA}\nEnvironment=PGDATA=/srv/pg"),
                   {"/srv/pg/PG_VERSION", "16\n"}}},
        {PG("postgresql-16.service"),
         .expected = AT "postgresql-16.service has nothing to start (/srv/pg does not "
                        "exist): no unit waits for the pages of db; name the unit that "
                        "starts it; then run 'systemctl daemon-reload' and 'hugeplanctl "
                        "reload'",
         .files = {UNIT("postgresql-16.service",
                        "/usr/pgsql-16/bin/postgres -D ${PGDATA}\nEnvironment=PGDATA=/srv/pg")}},
        {PG("patroni.service"),
         .files = {UNIT("patroni.service", "/usr/bin/python3 /usr/bin/patroni /etc/patroni.yml")}},
        /* It makes the directory itself. */
        {PG("patroni.service"),
         .files = {UNIT("patroni.service",
                        "/usr/bin/patroni /etc/patroni.yml\nEnvironment=PGDATA=/srv/pg"),
                   {"/etc/patroni.yml", "postgresql:\n  data_dir: /srv/pg\n"}}},
        {PG("db.service"), .files = {UNIT("db.service", "/usr/local/bin/start-db main")}},
        {PG("db.service"), .files = {UNIT("db.service", "/bin/sh -c 'exec /opt/start main'")}},
        {PG("db.service"), .files = {UNIT("db.service", "/usr/bin/podman run pg")}},
        {PG("db.service"), .files = {UNIT("db.service", "/usr/libexec/postgresql-ctl start")}},
        {PG("db.service"), .files = {UNIT("db.service", "/etc/init.d/postgresql start")}},
        /* Of several commands one will do. */
        {PG("db.service"),
         .files = {UNIT("db.service", "/bin/true\nExecStart=/usr/bin/pg_ctl start")}},
        {PG("db.service"), .files = {UNIT("db.service", "/bin/true\nExecStart=/opt/x")}},

        /* ---- MariaDB and MySQL ---- */
        {MDB("mariadb.service"), .files = {MARIA}},
        {MDB("mariadb@reports.service"),
         .files = {MARIA_TEMPLATE, {"/etc/mysql/my.cnf", "[mysqld.reports]\nport=3307\n"}}},
        {MDB("mariadb@report.service"),
         .expected = AT "mariadb@report.service is for a server that does not exist (no "
                        "option file has a group [mariadbd.report]): no unit waits for the "
                        "pages of db; did you mean mariadb@reports.service" CORRECT,
         .files = {MARIA_TEMPLATE, MARIA, {"/etc/mysql/my.cnf", "[mysqld.reports]\nport=3307\n"}}},
        {MYSQL("mariadb.service"),
         .expected = AT "mariadb.service starts /usr/sbin/mariadbd, which is not MySQL: no "
                        "unit waits for the pages of db; name the unit that starts it; "
                        "then run 'systemctl daemon-reload' and 'hugeplanctl reload'",
         .files = {MARIA}},
        {MDB("mysql.service"), .files = {UNIT("mysql.service", "/usr/sbin/mysqld")}},

        /* ---- those that anything may start ---- */
        {ORA("orders.service"), .files = {UNIT("orders.service", "/usr/bin/start-orders")}},
        {ORA("mariadb.service"),
         .expected = AT "mariadb.service starts /usr/sbin/mariadbd, which is not Oracle "
                        "Database: no unit waits for the pages of db; did you mean "
                        "dbora.service" CORRECT,
         .files = {MARIA,
                   UNIT("dbora.service", "/u01/app/oracle/product/19/dbhome_1/bin/dbstart")}},
        {JVM("es.service"), .files = {UNIT("es.service", "/usr/share/elasticsearch/bin/entry")}},
        {JVM("es.service"), .files = {UNIT("es.service", "/usr/sbin/cassandra -p /run/x")}},
        {JVM("mariadb.service"),
         .expected = AT "mariadb.service starts /usr/sbin/mariadbd, which is not Java: no "
                        "unit waits for the pages of db; name the unit that starts it; "
                        "then run 'systemctl daemon-reload' and 'hugeplanctl reload'",
         .files = {MARIA}},
        {ANY("mariadb.service"), .files = {MARIA}},
        {ANY("x.service"), .files = {UNIT("x.service", "/bin/true")}},

        /* ---- units that there are not ---- */
        {MDB("maria.service"),
         .expected = AT "systemd does not know maria.service: no unit waits for the pages "
                        "of db; did you mean mariadb.service? Correct the line, or install "
                        "the unit; then run 'systemctl daemon-reload'",
         .files = {MARIA}},
        {ANY("x.service"),
         .expected = "/etc/hugeplan.d/20-db.conf:2: Unit: systemd does not know "
                     "x.service: no unit waits for the pages of db; name an existing "
                     "unit, or install it; then run 'systemctl daemon-reload'",
         .files = {MARIA}},

        {ANY("es01.service"),
         .expected = "/etc/hugeplan.d/20-db.conf:2: Unit: systemd does not know "
                     "es01.service: no unit waits for the pages of db; did you mean "
                     "es10.service? Correct the line, or install the unit; then run "
                     "'systemctl daemon-reload'",
         .files = {MARIA, UNIT("es10.service", "/usr/bin/cached"),
                   UNIT("other.service", "/usr/bin/other")}},

        /* ---- several on one unit ---- */
        {MDB("mariadb.service"), MDB("mariadb.service"),
         .expected = "/etc/hugeplan.d/30-other.conf:3: Unit: other names "
                     "mariadb.service, and so does db (/etc/hugeplan.d/20-db.conf): 652 "
                     "pages of 2M and 652 pages of 2M are reserved, and both must be "
                     "available before it starts; remove one of the files; if both are "
                     "intended, set SilenceRules=unit-shared",
         .files = {MARIA}},
        {MDB("mariadb.service"), MDB("mariadb.service") "PageSize=1G\n",
         .expected = "/etc/hugeplan.d/30-other.conf:3: Unit: other names "
                     "mariadb.service, and so does db (/etc/hugeplan.d/20-db.conf): 1 "
                     "page of 1G and 652 pages of 2M are reserved, and both must be "
                     "available before it starts",
         .files = {MARIA}},
        {ORA("ora.service") "ConfigFile=/u01/initA.ora\n",
         ORA("ora.service") "ConfigFile=/u01/initB.ora\n",
         .expected = "/etc/hugeplan.d/30-other.conf:3: Unit: other names ora.service, "
                     "and so does db (/etc/hugeplan.d/20-db.conf): 517 pages of 2M and "
                     "517 pages of 2M are reserved, and both must be available before "
                     "it starts",
         .files = {UNIT("ora.service", "/u01/bin/dbstart")}},
        {MDB("mariadb.service"), "[Instance]\nEngine=mongodb\nUnit=mariadb.service\n",
         .files = {MARIA}},
};

TEST(cases) {
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const char *is = judge(arena, &cases[i], true);

                if (!text_equals(is, cases[i].expected))
                        print_error("case %zu: %s\n", i, cases[i].config);
                assert_text(is, cases[i].expected);
        }
}

/* The daemon goes by what systemd says, and reads none of the host's files for it. */
TEST(not_asked) {
        const Case no_disk = {
                PG("p.service"),
                .files = {UNIT("p.service", "/usr/bin/postgres -D /srv/pg")},
        };
        const Case apart = {MDB("mariadb.service"), MDB("mariadb.service") "PageSize=1G\n",
                            .files = {MARIA}};
        const Case together = {MDB("mariadb.service"), MDB("mariadb.service"), .files = {MARIA}};
        const Case wrong = {PG("postgresql@15-man.service"), .files = {DEBIAN_PG, CLUSTER("main")}};
        const Case another = {PG("postgresql.service"), .files = {DEBIAN_PG_ALL}};
        const Case unknown = {MDB("maria.service"), .files = {MARIA}};

        assert_non_null(judge(arena, &no_disk, true));
        assert_null(judge(arena, &no_disk, false));
        assert_non_null(judge(arena, &apart, true));
        assert_null(judge(arena, &apart, false));
        assert_contains(judge(arena, &together, false), "so does db");
        assert_contains(judge(arena, &wrong, true), "did you mean postgresql@15-main.service");
        assert_null(judge(arena, &wrong, false));
        assert_contains(judge(arena, &another, false),
                        "starts /bin/true, which is not PostgreSQL: no unit waits for the "
                        "pages of db; name the unit that starts it");
        assert_contains(judge(arena, &unknown, false),
                        "systemd does not know maria.service: no unit waits for the pages "
                        "of db; name an existing unit");
}

TEST(silenced) {
        const Config *config = config_make(
                arena, "00-host.conf", "[Host]\nSilenceRules=unit-shared\n", "20-a.conf",
                MDB("mariadb.service"), "30-b.conf", MDB("mariadb.service"), NULL);
        const Sources *sources = TEST_SOURCES(arena, MARIA);
        LoadedUnits units = load(arena, config, sources);
        UnitMatchInput input = {
                .config = config,
                .plan = plan_simple(arena, config,
                                    host_make(arena, "sizes 2M\nnode 0 total=64G free=62G\n")),
        };
        Diags problems = diags_in(arena);

        unit_match_judge(arena, &input, &units, &problems);
        assert_int_equal(problems.list.n, 0);
        input.is_asked = true; /* `check` counts what is silenced */
        unit_match_judge(arena, &input, &units, &problems);
        assert_int_equal(problems.list.n, 1);
}

/* A file with a mistake names a unit, and nothing else of it holds. */
TEST(refused) {
        const Config *config = config_make(arena, "20-a.conf",
                                           "[Instance]\nUnit=x.service\nPages=z\n", "30-b.conf",
                                           ANY("x.service"), NULL);
        const LoadedUnits units = {};
        Diags problems = diags_in(arena);

        unit_match_judge(arena,
                         &(UnitMatchInput){.config = config,
                                           .plan = plan_simple(arena, config,
                                                               host_make(arena, "sizes 2M\nnode 0 "
                                                                                "total=64G\n"))},
                         &units, &problems);
        assert_int_equal(problems.list.n, 0);
}
