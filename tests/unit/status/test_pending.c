/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Changes in the files that are not in effect yet. */

#include "config/config.h"
#include "status/pending.h"
#include "support/testing.h"

#define PG  "[Instance]\nUnit=pg.service\nPages=10\n"
#define OLD "[Instance]\nUnit=old.service\nPages=20\n"

static const char host[] = "sizes 2M\nnode 0 total=16G free=15G\n";

/* The status of a daemon that has read CONFIG. */
static Status *run(Arena *arena, const Config *config) {
        Topology *topology = host_make(arena, host);
        Plan *plan = plan_simple(arena, config, topology);
        const StatusInput input = {
                .config = config,
                .plan = plan,
                .topology = topology,
                .ledger = ledger_new(arena, ""),
                .phase = "idle",
        };

        return status_judge(arena, &input);
}

static const char *judge(Arena *arena, const Status *running, const Config *files, bool is_unread) {
        Diags problems = diags_in(arena);

        pending_judge(arena,
                      &(PendingInput){.running = running, .files = files, .is_unread = is_unread},
                      &problems);
        return problems.list.n > 0 ? problems_text(arena, &problems) : NULL;
}

#define READ "these files have changed since hugepland read them; "

TEST(changes) {
        static const struct {
                const char *pg, *old, *host; /* the present files; the daemon has read PG and OLD */
                const char *expected;
        } cases[] = {
                {PG, OLD, "", NULL},
                {"# a word\n\n" PG ";\n", OLD, "# no more\n", NULL},
                {PG "X-Owner=me\n[X-Ours]\nKey=1\n", OLD, "", NULL},
                {PG "Priority=50\n", OLD, "", READ "changed: pg; run 'hugeplanctl reload'"},
                {"[Instance]\nUnit=pg.service\nPages=11\n", OLD, "",
                 READ "changed: pg; run 'hugeplanctl reload'"},
                {PG "Name=new\n", OLD, "",
                 READ "added: new; removed: pg; run 'hugeplanctl reload'"},
                {PG, "", "", READ "removed: old; run 'hugeplanctl reload'"},
                {PG, OLD, "[Host]\nKeepFree=5%\n",
                 READ "changed: [Host]; run 'hugeplanctl reload'"},
                {PG "Nodes=0\n", OLD "Nodes=0\n", "[Host]\nReclaim=no\n",
                 READ "changed: old, pg; changed: [Host]; run 'hugeplanctl reload'"},
        };
        Status *running =
                run(arena, config_make(arena, "20-pg.conf", PG, "30-old.conf", OLD, NULL));

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Config *files = config_make(arena, "00-host.conf", cases[i].host,
                                                  "20-pg.conf", cases[i].pg, "30-old.conf",
                                                  cases[i].old, NULL);
                const char *is = judge(arena, running, files, false);

                if (!text_equals(is, cases[i].expected))
                        print_error("case %zu\n", i);
                assert_text(is, cases[i].expected);
        }
}

TEST(unread) {
        Status *running = run(arena, config_make(arena, "20-pg.conf", PG, NULL));

        assert_contains(judge(arena, running, config_make(arena, "20-pg.conf", OLD, NULL), true),
                        "; run 'systemctl daemon-reload', then 'hugeplanctl reload'");
}

TEST(extensions) {
        Status *running = run(arena, config_make(arena, "20-pg.conf", PG, NULL));

        assert_null(judge(arena, running,
                          config_make(arena, "20-pg.conf", PG, "20-pg.conf.d/90-learned.conf",
                                      "[Instance]\nPages=2M:12\nX-Exact=yes\n", NULL),
                          false));
        assert_contains(judge(arena, running,
                              config_make(arena, "20-pg.conf", PG, "20-pg.conf.d/50-more.conf",
                                          "[Instance]\nPriority=60\n", NULL),
                              false),
                        "changed: pg");
}

/* A problem is reported before it does harm. */
TEST(mistakes) {
        Status *running =
                run(arena, config_make(arena, "20-pg.conf", PG, "30-old.conf", OLD, NULL));
        const Config *one =
                config_make(arena, "20-pg.conf", PG "Node=1\n", "30-old.conf", OLD, NULL);
        const Config *two = config_make(arena, "20-pg.conf", PG "Node=1\n", "30-old.conf",
                                        OLD "Pags=1\n", NULL);
        const Config *of_host = config_make(arena, "00-host.conf", "[Host]\nKeepFre=1\n",
                                            "20-pg.conf", PG, "30-old.conf", OLD, NULL);

        assert_contains(judge(arena, running, one, false), "/etc/hugeplan.d/20-pg.conf:4: Node: ");
        assert_contains(judge(arena, running, one, false),
                        ". hugepland has not read this yet: a reload is refused, and from "
                        "the next boot on the gate refuses pg; ");
        assert_contains(judge(arena, running, one, false), "; then run 'hugeplanctl reload'");
        assert_contains(judge(arena, running, two, false),
                        "; and 1 more mistake. hugepland has not read this yet: a reload "
                        "is refused, and from the next boot on the gate refuses old, pg; ");
        assert_contains(judge(arena, running, of_host, false),
                        "hugepland has not read this yet: a reload is refused; ");
}

/* Problems that the status has are not repeated, and changes behind them wait. */
TEST(known) {
        const Config *wrong =
                config_make(arena, "20-pg.conf", PG "Node=1\n", "30-old.conf", OLD, NULL);
        Status *started = run(arena, wrong);
        Status *refused = run(arena, config_make(arena, "20-pg.conf", PG, NULL));

        assert_null(judge(arena, started, wrong, false));
        assert_contains(judge(arena, started,
                              config_make(arena, "20-pg.conf", PG, "30-old.conf", OLD, NULL),
                              false),
                        READ "changed: pg");
        diags_add_all(&refused->problems, &wrong->problems);
        assert_contains(judge(arena, refused, wrong, false), READ "added: old");
        diags_add(&refused->problems, &(Diag){.id = "config-rejected", .text = "x"});
        assert_null(judge(arena, refused, wrong, false));
        assert_contains(judge(arena, refused,
                              config_make(arena, "20-pg.conf", PG, "30-old.conf", OLD, NULL),
                              false),
                        READ "added: old");
}

/* An older daemon tells only the names. */
TEST(without_fingerprints) {
        Status *running = run(arena, config_make(arena, "20-pg.conf", PG, NULL));

        running->fingerprint = NULL;
        running->instances[0].fingerprint = NULL;
        assert_null(judge(arena, running,
                          config_make(arena, "00-host.conf", "[Host]\nReclaim=no\n", "20-pg.conf",
                                      PG "Priority=1\n", NULL),
                          false));
        assert_contains(judge(arena, running, config_make(arena, "30-old.conf", OLD, NULL), false),
                        READ "added: old; removed: pg");
}
