/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Gates, where more than one thing happens at once: several starts, rounds that bring a little each, a host
 * that cannot be read meanwhile. The plain cases are in test_keeper.c. */

#include "support/play.h"
#include "support/testing.h"

#include "base/size.h"
#include "model/names.h"
#include "model/problem.h"

static const char hundred[] = "Pages=100\nNodes=0\nUnit=a.service";

static void report_only(const Play *play) {
        tree_write(play->tree, "/etc/hugeplan.d/00.conf", "[Host]\nKeepFree=1G\nOnDrift=report\n");
}

/* ---- rounds for a gate ---- */

/* b.service runs, and may take 30 of the pages of node 1 to which a is bound; memory gives five more there than
 * a wants. */
static Gate gate_beside_taker(Play *play) {
        static const char bound[] = "Pages=100\nNodes=1\nPlacement=bind\nUnit=a.service";
        Gate first = starting(play, "b", "b.service"), gate = starting(play, "a", "a.service");

        settle(play, bound, "Pages=30\nNodes=0\nPlacement=pack\nUnit=b.service");
        assert_text(let_start(play, &first), "pass");
        set_pool(play, 1, play->pools[1].most = 105);
        start_unit(play, "a.service", 0, 0);
        gate.policy = (MemoryPolicy){.kind = MEMORY_POLICY_UNKNOWN};
        return gate;
}

/* As long as each brings it nearer, but no more than eight: whoever starts is waiting. */
PLAY_TEST(rounds_are_bounded) {
        Gate gate = gate_beside_taker(play);
        const char *answer;
        size_t n_rounds = 0;

        for (; text_equals(answer = try_gate(play, &gate, true), "wait"); n_rounds++) {
                play->pools[1].most++;
                round_of(play);
        }
        assert_int_equal(n_rounds, 8);
        assert_contains(answer, "refuse: 17 of its 100 pages of 2M (200M) are not for it alone");
}

/* One that brings nothing is the last. */
PLAY_TEST(rounds_that_bring_nothing) {
        Gate gate = gate_beside_taker(play);

        assert_contains(pass_gate(play, &gate), "refuse: 25 of its 100 pages");
        assert_int_equal(play->n_rounds, 2);
}

/* So it is where the first one was none of its own. */
PLAY_TEST(round_before) {
        begin(play, hundred, NULL);
        Gate gate = starting(play, "a", "a.service");

        play->pools[0].most = 60;
        round_of(play);
        assert_contains(let_start(play, &gate), "refuse: ");
        assert_int_equal(play->n_rounds, 1);
}

/* Nearer is nearer, whether it had no pages at all before or lacked some of them, down to the last one. */
PLAY_TEST(rounds_that_bring_a_little) {
        static const uint64_t most[] = {105, 128, 129};
        Gate gate = gate_beside_taker(play);

        set_pool(play, 1, play->pools[1].most = 60);
        assert_text(try_gate(play, &gate, true), "wait");
        round_of(play);
        for (size_t i = 0; i < ARRAY_LEN(most); i++) {
                assert_text(try_gate(play, &gate, true), "wait");
                play->pools[1].most = most[i];
                round_of(play);
        }
        assert_text(try_gate(play, &gate, true), "wait");
        play->pools[1].most = 130;
        round_of(play);
        assert_text(try_gate(play, &gate, true), "pass");
}

/* A single page is enough to be refused for. */
PLAY_TEST(one_page_lacks) {
        Gate gate = gate_beside_taker(play);

        play->pools[1].most = 129;
        assert_contains(pass_gate(play, &gate),
                        "refuse: 1 of its 100 pages of 2M (200M) is not for it alone");
}

/* Or to be degraded for. */
PLAY_TEST(one_page_lacks_degraded) {
        Gate gate = gate_beside_taker(play);

        write_config(play, "a",
                     "Pages=100\nNodes=1\nPlacement=bind\nUnit=a.service\nShortage=degrade");
        keeper_reload(play->keeper, false, 0);
        run(play);
        play->pools[1].most = 129;
        assert_text(pass_gate(play, &gate), "degraded");
        assert_text(tree_read(play->tree, GROUPS "a.service/hugetlb.2MB.rsvd.max"), "207618048\n");
}

/* The policy under which it starts is that of its drop-in where nobody knows better. */
PLAY_TEST(policy_of_drop_in) {
        Gate gate = gate_beside_taker(play);

        play->pools[1].most = UINT64_MAX;
        assert_text(pass_gate(play, &gate), "pass");
        assert_int_equal(play->n_rounds, 1);
        assert_contains(state_text(play), "hold a.service/a 100 bind counted run r1");
}

/* What lasts for a while is waited for: memory that a retry may find, pages that are about to be put back, a node that
 * the kernel knows of. Who starts in part, or never could, hears it at once. */
TEST(pending) {
        static const struct {
                const char *config;
                uint64_t most, total; /* of the pool of node 0, from the start; later */
                bool is_due;
                const char *answers[2];
        } rows[] = {
                {hundred, 60, 60, true, {"pending: ", "pending: "}},
                {hundred, 60, 60, false, {"refuse: ", "refuse: "}},
                {"Pages=100\nNodes=0\nUnit=a.service\nShortage=degrade", 60, 60, true, {"degraded"}},
                {"Pages=100\nNodes=0", 60, 60, true, {"pending: ", "pending: "}},
                {"Pages=100\nNodes=0",
                 UINT64_MAX,
                 99,
                 false,
                 {"pending: the pools of node 0", "refuse: "}},
                {"Pages=100\nNodes=7\nUnit=a.service",
                 UINT64_MAX,
                 0,
                 true,
                 {"refuse: node 7 does not exist"}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                Play *play = play_new();
                bool has_unit = strstr(rows[i].config, "Unit=");
                Gate gate = starting(play, "a", has_unit ? "a.service" : NULL);

                begin(play, rows[i].config, NULL);
                play->pools[0].most = rows[i].most;
                round_of(play);
                set_pool(play, 0, rows[i].total);
                if (has_unit)
                        start_unit(play, "a.service", 0, 0);
                gate.is_starting = has_unit;
                gate.is_due = rows[i].is_due;
                for (size_t n = 0; n < 2 && rows[i].answers[n]; n++)
                        assert_contains(try_gate(play, &gate, false), rows[i].answers[n]);
                play_free(play);
        }
}

/* With OnDrift=report what others have changed is repaired for nobody. */
PLAY_TEST(report_only) {
        Gate gate = starting(play, "a", "a.service"), asking = {"a", .run = ""};

        report_only(play);
        settle(play, hundred, NULL);
        set_pool(play, 0, 60);
        assert_contains(try_gate(play, &asking, true), "refuse: the pools of node 0");
        start_unit(play, "a.service", 0, 0);
        assert_contains(try_gate(play, &gate, true), "refuse: the pools of node 0");
}

/* But where memory is there again that was not, nobody has changed anything: it is tried once more. */
PLAY_TEST(report_only_without_drift) {
        Gate gate = starting(play, "a", "a.service"), asking = {"a", .run = ""};

        report_only(play);
        begin(play, hundred, NULL);
        play->pools[0].most = 60;
        round_of(play);
        assert_contains(try_gate(play, &asking, false), "refuse: node 0 gave 60 of 100");
        start_unit(play, "a.service", 0, 0);
        assert_text(try_gate(play, &gate, true), "wait");
        round_of(play);
        assert_contains(try_gate(play, &gate, true), "refuse: node 0 gave 60 of 100");
        stop_unit(play, "a.service", 0, 0);
        play->pools[0].most = UINT64_MAX;
        asking = (Gate){"a", .run = ""};
        assert_text(try_gate(play, &asking, true), "wait");
        round_of(play);
        assert_text(try_gate(play, &asking, true), "pass");
}

/* What they have changed may be no pool at all. */
PLAY_TEST(report_only_host) {
        Gate gate = starting(play, "a", "a.service");

        tree_write(play->tree, PATH_THP_ENABLED, "always madvise [never]\n");
        tree_write(play->tree, "/etc/hugeplan.d/00.conf",
                   "[Host]\nKeepFree=1G\nOnDrift=report\nTransparentHugePages=never\n");
        begin(play, hundred, NULL);
        play->pools[0].most = 60;
        round_of(play);
        tree_write(play->tree, PATH_THP_ENABLED, "[always] madvise never\n");
        start_unit(play, "a.service", 0, 0);
        assert_contains(try_gate(play, &gate, true), "refuse: node 0 gave 60 of 100");
        assert_text(tree_read(play->tree, PATH_THP_ENABLED), "[always] madvise never\n");
}

/* Nor where they have put it back; and as long as they have not, nothing else is written either. */
PLAY_TEST(report_only_put_back) {
        Gate gate = starting(play, "a", "a.service"), asking = {"a", .run = ""};

        report_only(play);
        begin(play, hundred, "Pages=30\nNodes=1\nUnit=b.service");
        play->pools[1].most = 10;
        round_of(play);
        play->pools[0].total = 60;
        play->pools[1].most = UINT64_MAX;
        show_host(play);
        asking.instance = "b";
        assert_contains(try_gate(play, &asking, true), "refuse: node 1 gave 10 of 30");
        start_unit(play, "a.service", 0, 0);
        assert_contains(try_gate(play, &gate, true), "refuse: the pools of node 0");
        stop_unit(play, "a.service", 0, 0);
        set_pool(play, 0, 100);
        assert_false(keeper_verify(play->keeper, false, true, 0, &(bool){false}));
        asking = (Gate){"b", .run = ""};
        assert_text(try_gate(play, &asking, true), "wait");
        assert_text(round_of(play), "1:30");
        assert_text(try_gate(play, &asking, true), "pass");
        gate = starting_as(play, "a", "a.service", "r2");
        start_unit(play, "a.service", 0, 0);
        assert_text(try_gate(play, &gate, true), "pass");
}

/* For who only asks a round is run once; where none may be, the repair that is due is waited for. */
PLAY_TEST(rounds_for_who_asks) {
        Gate gate = {.instance = "a", .run = ""}, late = gate;

        settle(play, hundred, NULL);
        play->pools[0] = (PlayedPool){.total = 60, .most = 60};
        show_host(play);
        assert_contains(try_gate(play, &late, false), "pending: the pools of node 0");
        assert_contains(try_gate(play, &late, false), "refuse: the pools of node 0");
        assert_text(try_gate(play, &gate, true), "wait");
        round_of(play);
        assert_contains(try_gate(play, &gate, true), "refuse: node 0 gave 60 of 100 pages");
        /* Nobody has tried to start it. */
        play->pools[0].most = UINT64_MAX;
        round_of(play);
        assert_null(strstr(problems_of(play), "the last start of"));
}

/* ---- several starts ---- */

/* One that has begun is no unit that runs until it is let start, whatever becomes of others meanwhile. */
PLAY_TEST(two_starts) {
        begin(play, hundred, "Pages=30\nNodes=1\nUnit=b.service");
        Gate a = starting(play, "a", "a.service"), b = starting(play, "b", "b.service");

        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        start_unit(play, "a.service", 0, 0);
        start_unit(play, "b.service", 0, 0);
        assert_text(try_gate(play, &a, true), "wait");
        assert_text(try_gate(play, &b, true), "wait");
        run(play);
        assert_false(status_of(play, "a")->is_running);
        assert_false(status_of(play, "b")->is_running);
        assert_text(try_gate(play, &a, true), "pass");
        assert_true(status_of(play, "a")->is_running);
        assert_false(status_of(play, "b")->is_running);
        assert_text(try_gate(play, &b, true), "pass");
        assert_true(status_of(play, "b")->is_running);
}

/* Whoever is let start first, the other one is still starting. */
PLAY_TEST(second_start_first) {
        begin(play, hundred, "Pages=30\nNodes=1\nUnit=b.service");
        Gate a = starting(play, "a", "a.service"), b = starting(play, "b", "b.service");

        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        start_unit(play, "a.service", 0, 0);
        start_unit(play, "b.service", 0, 0);
        assert_text(try_gate(play, &a, true), "wait");
        assert_text(try_gate(play, &b, true), "wait");
        run(play);
        assert_text(try_gate(play, &b, true), "pass");
        assert_false(status_of(play, "a")->is_running);
        assert_true(status_of(play, "b")->is_running);
}

/* Its earlier run is over when it starts again: what that had is not held when this one is refused. */
PLAY_TEST(refused_after_run) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, hundred, NULL);
        assert_text(let_start(play, &gate), "pass");
        set_pool(play, 0, play->pools[0].most = 60);
        gate = starting_as(play, "a", "a.service", "r2");
        assert_contains(pass_gate(play, &gate), "refuse: ");
        assert_null(strstr(state_text(play), "hold"));
}

/* Looks twice, with so much time in between that what was refused has ended, or goes on all the same. */
static void wait_for_end(Play *play) {
        for (size_t i = 0; i < 2; i++) {
                if (verify(play))
                        run(play);
                play->now_usec += 6 * USEC_PER_SEC;
        }
}

/* Who was refused does not run, though its group is there for a moment longer: if that stays, it runs. */
PLAY_TEST(refused_is_over) {
        begin(play, hundred, NULL);
        Gate gate = starting(play, "a", "a.service");

        play->pools[0].most = 60;
        round_of(play);
        start_unit(play, "a.service", 0, 0);
        assert_text(try_gate(play, &gate, true), "wait");
        assert_false(status_of(play, "a")->is_running);
        assert_contains(pass_gate(play, &gate), "refuse: ");
        assert_false(status_of(play, "a")->is_running);
        assert_true(keeper_waits_for_end(play->keeper));
        wait_for_end(play);
        assert_false(keeper_waits_for_end(play->keeper));
        assert_true(status_of(play, "a")->is_running);
}

/* A refused start takes nothing of anybody, and no sentence names it. */
PLAY_TEST(refused_takes_nothing) {
        begin(play, "Pages=100\nNodes=1\nPlacement=bind\nUnit=a.service",
              "Pages=150\nNodes=0\nUnit=b.service\nPlacement=pack");
        Gate gate = starting(play, "b", "b.service");

        play->pools[0].most = 60;
        round_of(play);
        assert_contains(let_start(play, &gate), "refuse: ");
        assert_verdict(play, "a", "ready");
        assert_null(strstr(problems_of(play), "may take"));
        assert_int_equal(play->pools[1].total, 100);
}

/* Who maps more than was known when the plan was made is covered before anybody is said to have lost something: what
 * is judged is planned from the same counts. */
PLAY_TEST(judged_as_planned) {
        const Status *status;

        settle(play, "Pages=100\nNodes=1\nPlacement=bind\nUnit=a.service",
               "Pages=30\nNodes=0\nUnit=b.service\nPlacement=pack");
        assert_int_equal(play->pools[1].total, 100);
        start_unit(play, "b.service", 0, 0); /* without its gate */
        assert_verdict(play, "a", "pending");
        status = keeper_judge(play->keeper, play->tree->arena, false);
        assert_true(status->wants_round);
        assert_text(status->phase, "reserving");
        assert_contains(round_of(play), "1:130");
        assert_verdict(play, "a", "ready");
        assert_false(keeper_judge(play->keeper, play->tree->arena, false)->wants_round);
}

/* Twice others lower the pools, and twice the neighbour without a policy is restarted, through its gate and past it,
 * before the daemon looks and after: nobody is lost whom a round would serve. */
PLAY_TEST(lowered_and_restarted_twice) {
        settle(play, "Pages=100\nNodes=1\nPlacement=bind\nUnit=a.service",
               "Pages=30\nNodes=0\nUnit=b.service\nPlacement=pack");
        for (unsigned i = 0; i < 8; i++) {
                Gate gate = starting(play, "b", "b.service");
                bool is_gated = i & 1, is_seen = i & 2, is_repaired = i & 4;

                gate.run = arena_printf(play->tree->arena, "r%u", i);
                play->pools[0].total = 5;
                set_pool(play, 1, 0);
                if (is_seen && verify_as(play, false, is_repaired))
                        run(play);
                if (!is_gated && verify(play))
                        run(play);
                start_unit(play, "b.service", 0, 0);
                if (is_gated)
                        assert_text(pass_gate(play, &gate), "pass");
                assert_string_not_equal(verdict_name(status_of(play, "a")->verdict), "lost");
                assert_verdict(play, "b", "ready");
                round_of(play);
                assert_verdict(play, "a", "ready");
                stop_unit(play, "b.service", 0, 0);
                round_of(play);
                assert_verdict(play, "a", "ready");
        }
}

/* Who is answered after it, by the same view, is judged beside what has become of it. */
PLAY_TEST(one_view) {
        static const struct {
                uint64_t most;
                GateAnswer answer;
        } cases[] = {{60, GATE_REFUSE}, {UINT64_MAX, GATE_PASS}};

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Gate gate = starting(play, "a", "a.service"), asking = {"a", .run = ""};
                GateView view = {};
                StatusInstance instance;
                Reason reason;

                play->pools[0] = (PlayedPool){.most = cases[i].most};
                settle(play, hundred, NULL);
                start_unit(play, "a.service", 0, 0);
                assert_int_equal(
                        keeper_try_gate(play->keeper, &view, &gate, false, &instance, &reason),
                        cases[i].answer);
                keeper_try_gate(play->keeper, &view, &asking, false, &instance, &reason);
                assert_int_equal(instance.is_running, cases[i].answer == GATE_PASS);
                keeper_end_gates(play->keeper, &view);
                stop_unit(play, "a.service", 0, 0);
        }
}

/* Two who start in one go, with PAGES that somebody else has reserved before the first is tried, or between them. */
static GateAnswer start_both(Play *play, uint64_t before, uint64_t between, Reason *ret_reason) {
        Arena *arena = play->tree->arena;
        Gate gates[] = {starting(play, "a", "a.service"), starting(play, "b", "b.service")};
        GateView view = {};
        StatusInstance instance;
        GateAnswer answer;

        for (size_t i = 0; i < ARRAY_LEN(gates); i++)
                start_unit(play, i == 0 ? "a.service" : "b.service", 0, 0);
        play->reserved = before;
        show_host(play);
        for (size_t i = 0; i < ARRAY_LEN(gates); i++)
                keeper_begin_gate(play->keeper, &gates[i]);
        assert_int_equal(
                keeper_try_gate(play->keeper, &view, &gates[0], false, &instance, ret_reason),
                GATE_PASS);
        assert_null(strstr(state_text(play), "hold a.service"));
        play->reserved = before + between;
        show_host(play);
        answer = keeper_try_gate(play->keeper, &view, &gates[1], false, &instance, ret_reason);
        ret_reason->text = arena_strdup(arena, ret_reason->text);
        keeper_end_gates(play->keeper, &view);
        return answer;
}

/* The second does not find what was promised to the first, and what has changed since that was tried is seen. Neither is
 * on disk before the end. */
PLAY_TEST(starts_in_one_go) {
        static const struct {
                uint64_t before, between;
                const char *lack; /* NULL: it may start */
        } cases[] = {
                {0, 0, NULL},
                {1, 0, "1 of its 100 pages of 2M (200M) is not for it alone"},
                {60, 0, "60 of its 100 pages of 2M (200M) are not for it alone"},
                {0, 60, "60 of its 100 pages of 2M (200M) are not for it alone"},
                {0, 1, "1 of its 100 pages of 2M (200M) is not for it alone"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Reason reason;

                play->pools[0] = (PlayedPool){.most = 200};
                play->reserved = 0;
                show_host(play);
                remove(tree_path(play->tree, PATH_STATE));
                settle(play, "Pages=100\nNodes=0\nPlacement=bind\nUnit=a.service",
                       "Pages=100\nNodes=0\nPlacement=bind\nUnit=b.service");
                GateAnswer answer = start_both(play, cases[i].before, cases[i].between, &reason);

                assert_int_equal(answer, cases[i].lack ? GATE_REFUSE : GATE_PASS);
                assert_contains(cases[i].lack ? reason.text : state_text(play),
                                cases[i].lack ? cases[i].lack : "hold b.service/b 100");
                assert_contains(state_text(play), "hold a.service/a 100");
                stop_unit(play, "a.service", 0, 0);
                stop_unit(play, "b.service", 0, 0);
        }
}

/* By what the pools are when it begins, too. */
PLAY_TEST(older_status_at_begin) {
        begin(play, hundred, NULL);
        Gate gate = starting(play, "a", "a.service");
        GateView view = {.arena = arena_new()};
        StatusInstance instance;
        Reason reason;

        round_of(play);
        start_unit(play, "a.service", 0, 0);
        view.status = keeper_judge(play->keeper, play->tree->arena, false);
        set_pool(play, 0, 60);
        assert_int_equal(keeper_try_gate(play->keeper, &view, &gate, false, &instance, &reason),
                         GATE_PENDING);
        assert_contains(reason.text, "the pools of node 0");
        keeper_end_gates(play->keeper, &view);
}

/* What it lacks is counted at that moment, though the status beside it may be older: a stranger has come. */
PLAY_TEST(older_status) {
        static const struct {
                const char *shortage;
                GateAnswer answer;
        } cases[] = {{"refuse", GATE_REFUSE}, {"degrade", GATE_PASS}};

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Arena *arena = play->tree->arena;
                Gate gate = starting(play, "a", "a.service");
                GateView view = {.arena = arena_new()};
                StatusInstance instance;
                Reason reason;

                play->pools[0].total = play->reserved = 0;
                begin(play, arena_printf(arena, "%s\nShortage=%s", hundred, cases[i].shortage),
                      NULL);
                keeper_begin(play->keeper, KEEPER_FRESH, 0);
                start_unit(play, "a.service", 0, 0);
                assert_text(try_gate(play, &gate, true), "wait");
                run(play);
                view.status = keeper_judge(play->keeper, arena, false);
                play->reserved = 1;
                show_host(play);
                assert_int_equal(
                        keeper_try_gate(play->keeper, &view, &gate, false, &instance, &reason),
                        cases[i].answer);
                if (cases[i].answer == GATE_PASS) {
                        assert_int_equal(instance.verdict, VERDICT_DEGRADED);
                        reason = instance.reason;
                }
                assert_contains(reason.text, "1 of its 100 pages of 2M (200M) is not for it alone");
                keeper_end_gates(play->keeper, &view);
                stop_unit(play, "a.service", 0, 0);
        }
}

/* A daemon that comes after the one that refused says so, too. */
PLAY_TEST(refusal_is_on_disk) {
        begin(play, hundred, NULL);
        Gate gate = starting(play, "a", "a.service");

        play->pools[0].most = 60;
        round_of(play);
        assert_contains(let_start(play, &gate), "refuse: ");
        stop_unit(play, "a.service", 0, 0);
        play->pools[0].most = UINT64_MAX;
        boot(play);
        round_of(play);
        assert_contains(problems_of(play), "the last start of a.service was refused: ");
}

/* It is for who would have to start it: not while it runs all the same, nor where it is described no longer. */
PLAY_TEST(refusal_of_who_runs_or_is_gone) {
        begin(play, hundred, NULL);
        Gate gate = starting(play, "a", "a.service");

        play->pools[0].most = 60;
        round_of(play);
        assert_contains(let_start(play, &gate), "refuse: ");
        play->pools[0].most = UINT64_MAX;
        round_of(play);
        wait_for_end(play);
        assert_verdict(play, "a", "ready");
        assert_true(status_of(play, "a")->is_running);
        assert_null(strstr(problems_of(play), "the last start of"));
        stop_unit(play, "a.service", 0, 0);
        assert_contains(problems_of(play), "the last start of a.service was refused: ");
        remove_config(play, "a");
        boot(play);
        assert_int_equal(keeper_look(play->keeper)->ledger->refusals.n, 1);
        assert_null(strstr(problems_of(play), "the last start of"));
}

/* Who has started is not refused any more, for the next daemon neither. */
PLAY_TEST(start_after_refusal_is_on_disk) {
        begin(play, hundred, NULL);
        Gate gate = starting(play, "a", "a.service");

        play->pools[0].most = 60;
        round_of(play);
        assert_contains(let_start(play, &gate), "refuse: ");
        play->pools[0].most = UINT64_MAX;
        round_of(play);
        gate = starting_as(play, "a", "a.service", "r2");
        assert_text(pass_gate(play, &gate), "pass");
        stop_unit(play, "a.service", 0, 0);
        boot(play);
        assert_null(strstr(problems_of(play), "the last start of"));
}

/* A unit that runs on without being described has a hold, which is nobody else's. */
PLAY_TEST(beside_left_hold) {
        Gate a = starting(play, "a", "a.service"), b = starting(play, "b", "b.service");

        settle(play, hundred, "Pages=30\nNodes=1\nUnit=b.service");
        assert_text(let_start(play, &a), "pass");
        remove_config(play, "a");
        write_config(play, "c", "Pages=10\nNodes=1");
        keeper_reload(play->keeper, false, 0);
        run(play);
        assert_text(let_start(play, &b), "pass");
        assert_text(tree_read(play->tree, GROUPS "b.service/hugetlb.2MB.rsvd.max"), "62914560\n");
}

/* ---- who wants nothing, and what is not known ---- */

/* A single page is held like any other. */
PLAY_TEST(one_page_wanted) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, "Pages=1\nNodes=0\nUnit=a.service", NULL);
        assert_text(let_start(play, &gate), "pass");
        assert_text(state_text(play), "a 0:1; hold a.service/a 1 any counted run r1");
}

/* Where its control group is not known no hugetlb limit is tried, though one is asked for. */
PLAY_TEST(unknown_group) {
        static const char *const preferences[] = {"", "\nIsolate=yes"};

        for (size_t i = 0; i < ARRAY_LEN(preferences); i++) {
                const char *lines =
                        arena_printf(play->tree->arena, "%s%s", hundred, preferences[i]);
                Gate gate = starting(play, "a", NULL);

                gate.run = i == 0 ? "r1" : "r2";
                settle(play, lines, "Pages=30\nNodes=0");
                assert_text(pass_gate(play, &gate), "pass");
                assert_text(text_string(&play->told), "");
        }
}

/* An engine for which nothing is reserved has nothing to be noted. */
PLAY_TEST(nothing_wanted) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, "Engine=redis\nUnit=a.service", NULL);
        assert_text(let_start(play, &gate), "pass");
        assert_text(state_text(play), "-");
}

/* What cannot be read is no reason to refuse: it is waited for. */
PLAY_TEST(host_cannot_be_read) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, hundred, NULL);
        start_unit(play, "a.service", 0, 0);
        const HostFiles before = break_host();

        for (int i = 0; i < 3; i++)
                assert_text(try_gate(play, &gate, true), "wait");
        mend_host(&before);
        assert_text(try_gate(play, &gate, true), "pass");
        assert_text(state_text(play), "a 0:100; hold a.service/a 100 any counted run r1");
}

PLAY_TEST(before_start) {
        play->keeper = keeper_new(play->tree->root, NULL, NULL);
        assert_false(keeper_was_refused(play->keeper, "a", "r1"));
}
