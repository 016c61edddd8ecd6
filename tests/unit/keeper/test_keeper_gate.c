/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Gates when several things happen together: several starts, and a status that is older than the pools. Simple cases
 * are in keeper_gate.stories. */

#include "support/play.h"
#include "support/testing.h"

#include "base/size.h"
#include "model/names.h"

static const char hundred[] = "Pages=100\nNodes=0\nUnit=a.service";

/* A gate waits for conditions that will end: memory that a retry may find, pages that will be restored, a node that
 * the kernel knows. An instance that starts in part, or can never start, gets the answer immediately. */
TEST(pending) {
        static const struct {
                const char *config;
                uint64_t most, total; /* of the pool of node 0, at the start and later */
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

/* ---- several starts ---- */

/* Others lower the pools twice, and a neighbour without a policy restarts twice, with and without its gate, before
 * and after the daemon looks: no instance is lost if a round would help. */
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

/* The second gate of the same view is judged after the effects of the first. */
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

/* Two units start together. Others reserve PAGES before the first gate is tried, or between the gates. */
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

/* The second gate does not use the first one's promise, and sees changes since the first was tried. Neither hold is
 * on disk before the end. */
PLAY_TEST(starts_in_one_go) {
        static const struct {
                uint64_t before, between;
                const char *lack; /* NULL: it may start */
        } cases[] = {
                {0, 0, NULL},
                {1, 0, "1 of its 100 pages of 2M (200M) is not reserved for it alone"},
                {60, 0, "60 of its 100 pages of 2M (200M) are not reserved for it alone"},
                {0, 60, "60 of its 100 pages of 2M (200M) are not reserved for it alone"},
                {0, 1, "1 of its 100 pages of 2M (200M) is not reserved for it alone"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Reason reason;

                play->pools[0] = (PlayedPool){.most = 200};
                play->reserved = 0;
                show_host(play);
                remove(tree_path(play->tree, PATH_LEDGER));
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

/* Also by the pools at its beginning. */
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

/* The missing pages are counted now, even if the status is older and another process has mapped pages since. */
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
                assert_contains(reason.text,
                                "1 of its 100 pages of 2M (200M) is not reserved for it alone");
                keeper_end_gates(play->keeper, &view);
                stop_unit(play, "a.service", 0, 0);
        }
}

PLAY_TEST(before_start) {
        play->keeper = keeper_new(play->tree->root, NULL, NULL);
        assert_false(keeper_was_refused(play->keeper, "a", "r1"));
}
