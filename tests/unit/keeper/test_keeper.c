/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The keeper on a host that is a directory: rounds, gates, reloads, units that stop, and what is on disk
 * after each. */

#include "support/play.h"
#include "support/testing.h"

#include "base/size.h"
#include "host/config_load.h"
#include "model/names.h"
#include "model/problem.h"

#define LOWERED(pages)                                             \
        "drift: node 0 has " pages " pages of 2M instead of 100; " \
        "'hugeplanctl check' lists what may set it\n"

/* ---- rounds ---- */

PLAY_TEST(round) {
        begin(play, "Pages=100\nUnit=a.service", "Pages=30\nNodes=1");

        /* A plan is made, and nothing is written or noted. */
        assert_text(grants_text(play->tree->arena, keeper_look(play->keeper)->plan, "a"),
                    "0:50 1:50");
        assert_text(state_text(play), "-");
        assert_verdict(play, "a", "refused");
        assert_text(round_of(play), "0:50 1:80");
        assert_verdict(play, "a", "ready");
        assert_verdict(play, "b", "ready");
        assert_text(state_text(play), "a 0:50/1:50; b 1:30");
        assert_int_equal(pool_on_disk(play, 1)->set_pages, 80);
        assert_int_equal(pool_on_disk(play, 1)->found_pages, 0);
        assert_false(keeper_wants_retry(play->keeper, play->now_usec));
        /* Again, and by another one, there is nothing to do. */
        assert_text(round_of(play), "-");
        boot(play);
        assert_text(round_of(play), "-");
        assert_text(text_string(&play->told), "");
}

/* What is about to be written stands on disk before it is, so that whoever comes after one that was killed
 * finds its own pages. */
PLAY_TEST(killed) {
        begin(play, "Pages=100\nNodes=0", NULL);
        ApplyOperation operation;

        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        assert_true(keeper_is_working(play->keeper));
        assert_true(keeper_next(play->keeper, 0, &operation));
        assert_text(state_text(play), "a 0:100");
        assert_int_equal(pool_on_disk(play, 0)->set_pages, 100);
        play->pools[0].total = 40; /* the kernel has got as far as that */
        show_host(play);
        boot(play);
        assert_text(round_of(play), "0:100");
        assert_int_equal(pool_on_disk(play, 0)->found_pages, 0);
}

/* What is short is tried again; what trying has shown goes to the next. */
PLAY_TEST(short) {
        begin(play, "Pages=100\nNodes=0\nPriority=60", "Pages=30\nNodes=0");

        play->pools[0].most = 40;
        round_of(play);
        assert_int_equal(play->pools[0].total, 30);
        assert_verdict(play, "a", "refused");
        assert_int_equal(status_of(play, "a")->reason.kind, REASON_FRAGMENTED);
        assert_verdict(play, "b", "ready");
        assert_true(keeper_wants_retry(play->keeper, play->now_usec));
        assert_false(keeper_wants_retry(play->keeper, play->now_usec + 3600 * USEC_PER_SEC));
        play->pools[0].most = UINT64_MAX;
        keeper_begin(play->keeper, KEEPER_RETRY, play->now_usec);
        run(play);
        assert_int_equal(play->pools[0].total, 130);
        assert_verdict(play, "a", "ready");
}

/* One that is asked for while another is under way comes after it. */
PLAY_TEST(another_round) {
        begin(play, "Pages=100\nNodes=0", NULL);
        ApplyOperation operation;

        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        assert_true(keeper_next(play->keeper, 0, &operation));
        play->pools[1].total = 5; /* meanwhile others come */
        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        react(play, &operation);
        keeper_done(play->keeper, &operation, 0, 1);
        run(play);
        assert_verdict(play, "a", "ready");
        assert_int_equal(pool_on_disk(play, 1)->found_pages, 5);
}

/* In a rescue shell nothing is done unless somebody asks. */
PLAY_TEST(held_back) {
        begin(play, "Pages=100\nNodes=0", NULL);

        keeper_hold_back(play->keeper);
        assert_true(keeper_is_held_back(play->keeper));
        assert_false(verify_as(play, true, true));
        assert_false(keeper_wants_retry(play->keeper, 0));
        assert_text(round_of(play), "0:100");
        assert_false(keeper_is_held_back(play->keeper));
}

/* ---- what others change ---- */

PLAY_TEST(drift) {
        settle(play, "Pages=100\nNodes=0", NULL);
        assert_false(verify(play));
        assert_false(play->wants_repair);
        set_pool(play, 0, 60);
        assert_verdict(play, "a", "lost");
        /* Not now; it is told once. */
        assert_false(verify_as(play, false, false));
        assert_true(play->wants_repair);
        assert_false(verify_as(play, false, false));
        assert_text(text_string(&play->told), LOWERED("60"));
        assert_true(verify(play));
        assert_text(run(play), "0:100");
        assert_verdict(play, "a", "ready");
        /* Once for each time. */
        set_pool(play, 0, 60);
        assert_true(verify(play));
        assert_text(text_string(&play->told), LOWERED("60") LOWERED("60"));
        assert_text(run(play), "0:100");
        /* What others add is no damage, and was found. */
        set_pool(play, 0, 107);
        verify_as(play, false, false);
        assert_false(play->wants_repair);
        assert_int_equal(ledger_pool(keeper_look(play->keeper)->ledger, 0, 2 * MIB)->found_pages,
                         7);
}

PLAY_TEST(drift_is_reported_only) {
        tree_write(play->tree, "/etc/hugeplan.d/00.conf", "[Host]\nKeepFree=1G\nOnDrift=report\n");
        write_config(play, "a", "Pages=100\nNodes=0");
        boot(play);
        round_of(play);
        set_pool(play, 0, 60);
        assert_false(verify(play));
        assert_false(play->wants_repair);
        assert_text(text_string(&play->told), LOWERED("60"));
}

/* Below what was found the ledger takes a pool for what it is; nobody has asked for its repair by that. */
PLAY_TEST(drift_below_what_was_found) {
        tree_write(play->tree, "/etc/hugeplan.d/00.conf", "[Host]\nKeepFree=1G\nOnDrift=report\n");
        set_pool(play, 0, 50);
        write_config(play, "a", "Pages=100\nNodes=0");
        boot(play);
        assert_text(round_of(play), "0:100");
        set_pool(play, 0, 40);
        for (int i = 0; i < 3; i++) {
                assert_false(verify(play));
                assert_false(play->wants_repair);
        }
        assert_int_equal(count(&play->told, LOWERED("40")), 1);
        assert_verdict(play, "a", "lost");
        /* Who asks for it gets it, and what comes then is another matter. */
        keeper_reload(play->keeper, false, play->now_usec);
        assert_text(run(play), "0:100");
        assert_verdict(play, "a", "ready");
        remove_config(play, "a");
        keeper_reload(play->keeper, false, play->now_usec);
        assert_text(run(play), "0:40");
}

/* What is planned may do with less meanwhile, and want more again later: nobody has asked for that either. */
PLAY_TEST(drift_stays_reported) {
        tree_write(play->tree, "/etc/hugeplan.d/00.conf", "[Host]\nKeepFree=1G\nOnDrift=report\n");
        write_config(play, "a", "Pages=100\nNodes=0");
        boot(play);
        round_of(play);
        set_pool(play, 0, 60);
        /* No memory for more, and then there is. */
        tree_write(play->tree, arena_printf(play->tree->arena, NODE_FORMAT "meminfo", 0u),
                   "Node 0 MemTotal: 16777216 kB\nNode 0 MemFree: 1048576 kB\n");
        for (int i = 0; i < 2; i++)
                assert_false(verify(play));
        show_host(play);
        for (int i = 0; i < 2; i++)
                assert_false(verify(play));
        keeper_reload(play->keeper, false, play->now_usec);
        assert_text(run(play), "0:100");
}

/* With a pause before it is repaired, as there is against who keeps writing. */
PLAY_TEST(drift_below_what_was_found_waits) {
        set_pool(play, 0, 50);
        write_config(play, "a", "Pages=100\nNodes=0");
        boot(play);
        round_of(play);
        set_pool(play, 0, 40);
        for (int i = 0; i < 3; i++) {
                assert_false(verify_as(play, false, false));
                assert_true(play->wants_repair);
        }
        assert_true(verify(play));
        assert_text(run(play), "0:100");
        assert_false(verify_as(play, false, false));
        assert_false(play->wants_repair);
}

/* Pages that others have moved to another node are given back there by who repairs only. */
PLAY_TEST(moved_pages_are_reported_only) {
        tree_write(play->tree, "/etc/hugeplan.d/00.conf", "[Host]\nKeepFree=1G\nOnDrift=report\n");
        write_config(play, "a", "Pages=100\nNodes=0");
        boot(play);
        round_of(play);
        play->pools[0].total = 60;
        set_pool(play, 1, 40);
        for (int i = 0; i < 3; i++)
                assert_false(verify(play));
        /* The rest is put right by others. */
        set_pool(play, 0, 100);
        assert_false(verify(play));
        keeper_reload(play->keeper, false, play->now_usec);
        assert_text(run(play), "1:0");
}

/* ---- gates ---- */

PLAY_TEST(gate_passes) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        assert_text(let_start(play, &gate), "pass");
        assert_int_equal(play->n_rounds, 0);
        /* That is on disk before it hears of it. */
        assert_text(state_text(play), "a 0:100; hold a.service/a 100 any counted run r1");
        assert_true(status_of(play, "a")->is_running);
        assert_verdict(play, "a", "ready");
        assert_int_equal(keeper_units(play->keeper, play->tree->arena).n, 1);
        /* A keeper that comes after this one knows. */
        boot(play);
        assert_true(status_of(play, "a")->is_running);
}

/* Who asks and does not start passes as well, and nothing is noted. */
PLAY_TEST(gate_of_who_asks) {
        Gate gate = {.instance = "a", .run = ""}, other = {.instance = "b", .run = ""},
             none = {.instance = "c", .run = ""};

        settle(play, "Pages=100\nNodes=0\nUnit=a.service", "Pages=9999");
        assert_text(pass_gate(play, &gate), "pass");
        assert_text(state_text(play), "a 0:100");
        assert_contains(pass_gate(play, &other), "refuse: 9,999 pages of 2M");
        assert_int_equal(play->n_rounds, 1);
        assert_text(pass_gate(play, &none), "gone");
}

/* A round is under way, and may bring its pages. */
PLAY_TEST(gate_waits) {
        begin(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        Gate gate = starting(play, "a", "a.service");

        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        start_unit(play, "a.service", 0, 0);
        assert_text(try_gate(play, &gate, true), "wait");
        run(play);
        assert_text(try_gate(play, &gate, true), "pass");
}

/* Its pages have gone: they are restored for it, if that can be done. */
PLAY_TEST(gate_restores) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        set_pool(play, 0, 60);
        assert_text(let_start(play, &gate), "pass");
        assert_int_equal(play->n_rounds, 1);
        assert_int_equal(play->pools[0].total, 100);
}

/* It is refused with the reason, as long as rounds bring it no nearer; and when its pages are there after
 * all, somebody is told to start it. */
PLAY_TEST(gate_refuses) {
        begin(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        Gate gate = starting(play, "a", "a.service");

        play->pools[0].most = 60;
        round_of(play);
        assert_contains(let_start(play, &gate), "refuse: ");
        assert_in_range(play->n_rounds, 1, 2);
        assert_null(strstr(state_text(play), "hold"));
        stop_unit(play, "a.service", 0, 0);
        assert_null(strstr(problems_of(play), "the last start of"));
        play->pools[0].most = UINT64_MAX;
        round_of(play);
        assert_verdict(play, "a", "ready");
        assert_contains(problems_of(play), "the last start of a.service was refused: ");
        assert_contains(problems_of(play), "systemctl start a.service");
        /* It was started. */
        gate = starting(play, "a", "a.service");
        assert_text(let_start(play, &gate), "pass");
        assert_null(strstr(problems_of(play), "the last start of"));
}

/* Where no round may be run for it, the repair that is due is waited for, and after that nothing. */
PLAY_TEST(gate_may_not_try) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        set_pool(play, 0, 60);
        start_unit(play, "a.service", 0, 0);
        assert_contains(try_gate(play, &gate, false),
                        "pending: the pools of node 0 no longer hold 40 of its pages");
        assert_contains(try_gate(play, &gate, false),
                        "refuse: the pools of node 0 no longer hold 40 of its pages");
}

/* What a gate is the first to see others have lowered is told, and as little repaired by the next look as
 * what a look has seen: below what was found the ledger takes the pool for what it is. */
PLAY_TEST(gate_sees_what_was_lowered) {
        tree_write(play->tree, "/etc/hugeplan.d/00.conf", "[Host]\nKeepFree=1G\nOnDrift=report\n");
        set_pool(play, 0, 50);
        write_config(play, "a", "Pages=100\nNodes=0\nUnit=a.service");
        boot(play);
        round_of(play);
        set_pool(play, 0, 40);
        start_unit(play, "a.service", 0, 0);
        Gate gate = starting(play, "a", "a.service");

        assert_contains(try_gate(play, &gate, false), "refuse: the pools of node 0 no longer hold");
        assert_text(
                text_string(&play->told),
                LOWERED("40") "aa: its start is refused: the pools of node 0 no longer hold 60 of its pages\n");
        stop_unit(play, "a.service", 0, 0);
        for (int i = 0; i < 2; i++) {
                assert_false(verify(play));
                assert_false(play->wants_repair);
        }
        assert_int_equal(count(&play->told, LOWERED("40")), 1);
}

/* Others have brought what it lacked, and there was nothing to be written: it is let start with that. */
PLAY_TEST(gate_of_what_others_brought) {
        begin(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        Gate gate = starting(play, "a", "a.service");

        play->pools[0].most = 60;
        round_of(play);
        assert_verdict(play, "a", "refused");
        set_pool(play, 0, 100);
        assert_false(verify(play));
        assert_text(let_start(play, &gate), "pass");
        assert_int_equal(play->n_rounds, 0);
        assert_text(state_text(play), "a 0:100; hold a.service/a 100 any counted run r1");
}

PLAY_TEST(gate_degrades) {
        begin(play, "Pages=100\nNodes=0\nUnit=a.service\nShortage=degrade", NULL);
        Gate gate = starting(play, "a", "a.service");

        play->pools[0].most = 60;
        round_of(play);
        assert_text(let_start(play, &gate), "degraded");
        assert_text(state_text(play), "a 0:60; hold a.service/a 60 any counted run r1");
}

/* It starts with what is not for others: the hugetlb limit keeps it from the rest. */
PLAY_TEST(gate_degrades_beside_others) {
        static const char degrading[] = "Pages=30\nNodes=0\nPlacement=pack\nUnit=b.service\n"
                                        "Shortage=degrade";
        begin(play, "Pages=100\nNodes=1\nPlacement=bind\nUnit=a.service", degrading);
        Gate first = starting(play, "a", "a.service"), gate = starting(play, "b", "b.service");

        first.policy = (MemoryPolicy){.kind = MEMORY_POLICY_BIND};
        id_set_add(&first.policy.nodes, 1);
        round_of(play);
        assert_text(let_start(play, &first), "pass");
        /* There is room for 10 of the 30 that it may take of node 1. */
        play->pools[1].most = 110;
        assert_text(let_start(play, &gate), "degraded");
        assert_text(tree_read(play->tree, GROUPS "b.service/hugetlb.2MB.rsvd.max"), "20971520\n");
}

/* Told to start with nothing, it runs with nothing: pages that are in use are not its own. */
PLAY_TEST(gate_degrades_to_nothing) {
        begin(play, "Pages=100\nNodes=0\nUnit=a.service\nShortage=degrade", NULL);
        Gate gate = starting(play, "a", "a.service");

        play->pools[0] = (PlayedPool){.total = 20, .used = 20, .most = 20};
        show_host(play);
        round_of(play);
        assert_text(let_start(play, &gate), "degraded");
        assert_text(state_text(play), "hold a.service/a 0 any counted run r1");
        round_of(play);
        assert_int_equal(plan_pool(keeper_look(play->keeper)->plan, 0, 2 * MIB)->others_pages, 20);
        assert_verdict(play, "a", "degraded");
        remove_config(play, "a");
        keeper_reload(play->keeper, false, play->now_usec);
        run(play);
        assert_null(strstr(problems_of(play), "keeps the 0 pages"));
}

PLAY_TEST(gate_of_broken_file) {
        begin(play, "Pages=x\nUnit=a.service", NULL);
        Gate gate = starting(play, "a", "a.service");

        /* What is wrong with the files is told at the start. */
        assert_contains(text_string(&play->told), "/etc/hugeplan.d/a.conf:2: Pages");
        assert_contains(let_start(play, &gate), "refuse: /etc/hugeplan.d/a.conf:2: Pages");
        assert_int_equal(play->n_rounds, 0);
}

/* Somebody who runs may take the pages to which it is bound: the pool is made larger for it, or it is
 * refused, and by name. */
PLAY_TEST(gate_beside_others) {
        static const char bound[] = "Pages=100\nNodes=1\nPlacement=bind\nUnit=a.service";
        begin(play, bound, "Pages=30\nNodes=0\nPlacement=pack\nUnit=b.service");
        Gate first = starting(play, "b", "b.service"), gate = starting(play, "a", "a.service");

        gate.policy = (MemoryPolicy){.kind = MEMORY_POLICY_BIND};
        id_set_add(&gate.policy.nodes, 1);
        round_of(play);
        assert_int_equal(play->pools[1].total, 100);
        assert_text(let_start(play, &first), "pass");
        assert_text(let_start(play, &gate), "pass");
        assert_int_equal(play->pools[1].total, 130);
        assert_contains(state_text(play), "hold a.service/a 100 bind counted run r1");
        /* Where memory gives no more: */
        stop_unit(play, "a.service", 0, 0);
        set_pool(play, 1, play->pools[1].most = 120);
        gate = starting_as(play, "a", "a.service", "r2");
        gate.policy = (MemoryPolicy){.kind = MEMORY_POLICY_BIND};
        id_set_add(&gate.policy.nodes, 1);
        assert_text(let_start(play, &gate),
                    "refuse: 10 of its 100 pages of 2M (200M) are not for it alone: node 1 has 120 "
                    "free, of which b.service may take 30");
}

/* Its unit has begun another run: what the last one had is over. */
PLAY_TEST(gate_of_another_run) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        let_start(play, &gate);
        write_config(play, "a", "Pages=100\nNodes=1\nUnit=a.service");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        run(play);
        assert_int_equal(play->pools[0].total, 100); /* with which it runs */
        assert_int_equal(play->pools[1].total, 100);
        assert_non_null(status_of(play, "a")->until_restart);
        gate = starting_as(play, "a", "a.service", "r2");
        assert_text(pass_gate(play, &gate), "pass");
        assert_int_equal(play->n_rounds, 1);
        assert_int_equal(play->pools[0].total, 0);
        assert_text(state_text(play), "a 1:100; hold a.service/a 100 any counted run r2");
        assert_null(status_of(play, "a")->until_restart);
}

/* Who calls again and again while his unit is starting, with ever other pages mapped, gets no page more. */
PLAY_TEST(start_is_believed_once) {
        begin(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        static const struct {
                uint64_t mapped, used;
        } uses[] = {{0, 0}, {100, 0}, {100, 100}, {30, 30}, {100, 60}};
        const char *const hold = "a 0:100; hold a.service/a 100 any counted run r1";

        round_of(play);
        start_unit(play, "a.service", 0, 0);
        for (size_t i = 0; i < 100; i++) {
                Gate gate = starting(play, "a", "a.service");

                use_pages(play, "a.service", uses[i % ARRAY_LEN(uses)].mapped,
                          uses[i % ARRAY_LEN(uses)].used);
                assert_text(pass_gate(play, &gate), "pass");
                assert_int_equal(play->pools[0].total + play->pools[1].total, 100);
                assert_int_equal(gate.is_starting, i == 0);
                if (i % 20 == 19)
                        assert_text(round_of(play), "-");
        }
        assert_text(state_text(play), hold);
        boot(play); /* nor does a daemon that is started again */
        Gate gate = starting(play, "a", "a.service");

        assert_text(pass_gate(play, &gate), "pass");
        assert_false(gate.is_starting);
        assert_text(round_of(play), "-");
        assert_text(state_text(play), hold);
        use_pages(play, "a.service", 0, 0);
}

/* One that waited while another one of the same start was let start. */
PLAY_TEST(start_is_believed_once_at_once) {
        begin(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        Gate first = starting(play, "a", "a.service"), second = first;

        start_unit(play, "a.service", 0, 0);
        assert_text(try_gate(play, &first, true), "wait");
        assert_text(try_gate(play, &second, true), "wait");
        round_of(play);
        assert_text(try_gate(play, &first, true), "pass");
        use_pages(play, "a.service", 100, 100);
        assert_text(try_gate(play, &second, true), "pass");
        assert_false(second.is_starting);
        assert_int_equal(play->pools[0].total + play->pools[1].total, 100);
        assert_text(state_text(play), "a 0:100; hold a.service/a 100 any counted run r1");
        use_pages(play, "a.service", 0, 0);
}

/* Two instances of one unit, in turn. */
PLAY_TEST(starts_of_one_unit_are_believed_once) {
        settle(play, "Pages=100\nNodes=0\nUnit=x.service", "Pages=30\nNodes=0\nUnit=x.service");
        start_unit(play, "x.service", 0, 0);
        for (size_t i = 0; i < 100; i++) {
                Gate gate = starting(play, i % 2 ? "b" : "a", "x.service");

                use_pages(play, "x.service", i < 2 ? 0 : 130, i < 2 ? 0 : i);
                assert_text(pass_gate(play, &gate), "pass");
                assert_int_equal(play->pools[0].total, 130);
                assert_int_equal(gate.is_starting, i < 2);
        }
        assert_text(state_text(play), "a 0:100; b 0:30; hold x.service/a 100 any counted run r1; "
                                      "hold x.service/b 30 any counted run r1");
        use_pages(play, "x.service", 0, 0);
}

/* A run that is not known could begin again and again. */
PLAY_TEST(start_of_unknown_run) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        start_unit(play, "a.service", 0, 0);
        gate.run = "";
        assert_text(pass_gate(play, &gate), "pass");
        assert_false(gate.is_starting);
        assert_text(state_text(play), "a 0:100");
}

/* Rounds are run for it at once; the same start that calls again is to wait for its turn. */
PLAY_TEST(start_that_was_refused) {
        begin(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        Gate gate = starting(play, "a", "a.service");

        play->pools[0].most = 40;
        round_of(play);
        start_unit(play, "a.service", 0, 0);
        assert_false(keeper_was_refused(play->keeper, "a", "r1"));
        assert_contains(pass_gate(play, &gate), "refuse: ");
        assert_true(keeper_was_refused(play->keeper, "a", "r1"));
        assert_false(keeper_was_refused(play->keeper, "a", "r2"));
        assert_false(keeper_was_refused(play->keeper, "b", "r1"));
        play->pools[0].most = UINT64_MAX;
        round_of(play);
        gate = starting(play, "a", "a.service");
        assert_text(try_gate(play, &gate, false), "pass"); /* it has not started yet */
        assert_true(gate.is_starting);
        assert_false(keeper_was_refused(play->keeper, "a", "r1"));
}

/* A unit of two instances has two gates in one run, and is counted for both. */
PLAY_TEST(gates_of_one_unit) {
        Gate first = starting(play, "a", "x.service"), second = starting(play, "b", "x.service");

        settle(play, "Pages=100\nNodes=0\nUnit=x.service", "Pages=30\nNodes=0\nUnit=x.service");
        assert_text(let_start(play, &first), "pass");
        assert_text(pass_gate(play, &second), "pass");
        assert_text(state_text(play), "a 0:100; b 0:30; hold x.service/a 100 any counted run r1; "
                                      "hold x.service/b 30 any counted run r1");
        assert_int_equal(play->pools[0].total, 130);
}

/* The hugetlb limit leaves the unit what its first instance was let start with, though a more important one, which
 * does not run, has a claim to it as well. */
PLAY_TEST(gates_of_one_unit_and_hugetlb_limit) {
        Gate first = starting(play, "a", "x.service"), second = starting(play, "b", "x.service");

        tree_write(play->tree, "/etc/hugeplan.d/00.conf", "[Host]\nKeepFree=1G\nOnDrift=report\n");
        write_config(play, "c", "Pages=40\nNodes=0\nPriority=55");
        settle(play, "Pages=100\nNodes=0\nUnit=x.service",
               "Pages=30\nNodes=0\nUnit=x.service\nPriority=60");
        keeper_release(play->keeper, "b", play->now_usec);
        run(play);
        assert_int_equal(play->pools[0].total, 140);
        assert_text(let_start(play, &first), "pass");
        assert_text(pass_gate(play, &second), "pass");
        assert_text(tree_read(play->tree, GROUPS "x.service/hugetlb.2MB.rsvd.max"),
                    "272629760\n"); /* 130 pages */
}

/* It leaves a unit nothing of what another one was let start with. */
PLAY_TEST(gates_of_two_units_and_hugetlb_limit) {
        Gate first = starting(play, "a", "x.service"), second = starting(play, "b", "y.service");

        tree_write(play->tree, "/etc/hugeplan.d/00.conf", "[Host]\nKeepFree=1G\nOnDrift=report\n");
        write_config(play, "c", "Pages=40\nNodes=0\nPriority=55");
        settle(play, "Pages=100\nNodes=0\nUnit=x.service",
               "Pages=30\nNodes=0\nUnit=y.service\nPriority=60");
        keeper_release(play->keeper, "b", play->now_usec);
        run(play);
        assert_text(let_start(play, &first), "pass");
        assert_text(let_start(play, &second), "pass");
        assert_text(tree_read(play->tree, GROUPS "y.service/hugetlb.2MB.rsvd.max"), "62914560\n");
}

/* Where its control group is not known, or has no counters, nobody counts. */
PLAY_TEST(gate_not_counted) {
        Gate gate = starting(play, "a", NULL);

        settle(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        tree_write(play->tree, GROUPS "a.service/cgroup.procs", "100\n");
        assert_text(pass_gate(play, &gate), "pass");
        assert_text(state_text(play), "a 0:100; hold a.service/a 100 any run r1");
        gate = starting_as(play, "a", "a.service", "r2");
        assert_text(pass_gate(play, &gate), "pass");
        assert_text(state_text(play), "a 0:100; hold a.service/a 100 any run r2");
}

/* A hugetlb limit is put up for it; where there can be none, that matters only to who insists. */
PLAY_TEST(gate_and_hugetlb_limit) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, "Pages=100\nNodes=0\nUnit=a.service", "Pages=30\nNodes=0");
        assert_text(let_start(play, &gate), "pass");
        assert_text(tree_read(play->tree, GROUPS "a.service/hugetlb.2MB.rsvd.max"), "209715200\n");
        /* A plain file does not obey, so that it cannot be turned on. */
        tree_write(play->tree, GROUPS "cgroup.subtree_control", "\n");
        gate = starting_as(play, "a", "a.service", "r2");
        assert_text(pass_gate(play, &gate), "pass");
        assert_contains(text_string(&play->told),
                        "a.service cannot be kept from the huge pages of others");
        assert_null(strstr(state_text(play), "counted"));
        write_config(play, "a", "Pages=100\nNodes=0\nUnit=a.service\nIsolate=yes");
        keeper_reload(play->keeper, true, play->now_usec);
        run(play);
        gate = starting_as(play, "a", "a.service", "r3");
        assert_contains(pass_gate(play, &gate), "refuse: " GROUPS "cgroup.subtree_control");
}

/* Isolate=no: none is put up, and one of before that is too narrow now goes. */
PLAY_TEST(gate_widens_hugetlb_limit) {
        static const char limit[] = GROUPS "a.service/hugetlb.2MB.rsvd.max";
        Gate gate = starting(play, "a", "a.service");

        settle(play, "Pages=100\nNodes=0\nUnit=a.service\nIsolate=no", "Pages=30\nNodes=0");
        start_unit(play, "a.service", 0, 0);
        tree_write(play->tree, limit, "209715200\n");
        assert_text(pass_gate(play, &gate), "pass");
        assert_text(tree_read(play->tree, limit), "209715200\n");
        tree_write(play->tree, limit, "62914560\n");
        gate = starting_as(play, "a", "a.service", "r2");
        assert_text(pass_gate(play, &gate), "pass");
        assert_text(tree_read(play->tree, limit), "max");
}

/* ---- units that stop ---- */

PLAY_TEST(unit_stops) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        let_start(play, &gate);
        remove_config(play, "a");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        assert_text(run(play), "-");
        assert_text(state_text(play), "hold a.service/a 100 any counted run r1");
        assert_contains(problems_of(play), "a.service keeps the 100 pages of 2M");
        assert_int_equal(keeper_units(play->keeper, play->tree->arena).n, 1);
        /* It runs on, and keeps them. */
        assert_false(verify(play));
        stop_unit(play, "a.service", 0, 0);
        assert_true(verify(play));
        assert_false(play->wants_repair);
        assert_text(run(play), "0:0");
        assert_text(state_text(play), "-");
        assert_int_equal(keeper_units(play->keeper, play->tree->arena).n, 0);
}

/* What it has touched is not lowered, whatever the plan says, and what it has mapped neither. */
PLAY_TEST(pages_in_use_stay) {
        settle(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        /* Nobody has let it start: it was there before the gates were. */
        start_unit(play, "a.service", 80, 30);
        remove_config(play, "a");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        assert_text(run(play), "0:80");
}

/* ---- reload ---- */

PLAY_TEST(reload) {
        Arena *arena = play->tree->arena;

        settle(play, "Pages=100\nNodes=0", "Pages=30\nNodes=1");
        write_config(play, "a", "Pages=120\nNodes=0");
        remove_config(play, "b");
        write_config(play, "c", "Pages=7\nNodes=1");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        run(play);
        const KeeperReloadResult result = keeper_reload_result(play->keeper);

        assert_int_equal(result.state, KEEPER_RELOAD_APPLIED);
        assert_int_equal(result.problems.list.n, 0);
        assert_int_equal(result.changes.n, 3);
        assert_text(change_format(arena, &result.changes.items[0]),
                    "a: grown from 100 to 120 pages of 2M");
        assert_text(change_format(arena, &result.changes.items[1]), "c: added, 7 pages of 2M");
        assert_text(change_format(arena, &result.changes.items[2]), "b: removed, 30 pages of 2M");
        assert_int_equal(result.pools.n, 2);
        assert_text(pool_change_format(arena, &result.pools.items[1]),
                    "node 1: 30 -> 7 pages of 2M");
        assert_text(state_text(play), "a 0:120; c 1:7");
}

/* What likely ran for an instance without a unit is others' when that is gone, or wants less: never another's. Which of
 * two it ran for goes by name only: where one of them wants less, or nothing, it may have been that one. */
PLAY_TEST(likely_stays) {
        static const struct {
                const char *name;
                const char *config; /* NULL: removed; "": released */
                uint64_t pages, after;
        } changes[] = {
                {"a", NULL, 250, 100},
                {"a", "Pages=50\nNodes=0", 250, 150},
                {"a", "", 250, 100},
                {"b", NULL, 300, 200},
                {"b", "Pages=40\nNodes=0", 300, 240},
                {"b", "Pages=1\nPageSize=1G\nNodes=0", 300, 200},
                {"b", "", 300, 200},
        };

        for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
                play->pools[0] = play->pools[1] = (PlayedPool){.most = UINT64_MAX};
                show_host(play);
                remove(tree_path(play->tree, PATH_STATE));
                settle(play, "Pages=200\nNodes=0", "Pages=100\nNodes=0");
                assert_int_equal(play->pools[0].total, 300);
                play->pools[0].used = 140;
                play->reserved = 10;
                show_host(play);
                round_of(play);
                if (!changes[i].config)
                        remove_config(play, changes[i].name);
                else if (*changes[i].config)
                        write_config(play, changes[i].name, changes[i].config);
                if (text_equals(changes[i].config, ""))
                        keeper_release(play->keeper, changes[i].name, play->now_usec);
                else
                        assert_int_equal(keeper_reload(play->keeper, true, play->now_usec),
                                         KEEPER_RELOAD_BEGUN);
                run(play);
                assert_int_equal(play->pools[0].total, changes[i].pages);
                assert_verdict(play, *changes[i].name == 'a' ? "b" : "a", "ready");
                assert_text(round_of(play), "-");
                boot(play);
                assert_text(round_of(play), "-");
                play->pools[0].used = play->reserved = 0;
                show_host(play);
                round_of(play);
                assert_int_equal(play->pools[0].total, changes[i].after);
        }
}

/* One mistake, and nothing changes; it is on show until it is corrected. */
PLAY_TEST(reload_rejected) {
        settle(play, "Pages=100\nNodes=0", NULL);
        write_config(play, "a", "Pages=120\nNodes=0");
        write_config(play, "b", "Pages=x");
        assert_int_equal(keeper_reload(play->keeper, true, play->now_usec), KEEPER_RELOAD_REJECTED);
        assert_false(keeper_is_working(play->keeper));
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_REJECTED);
        assert_int_equal(keeper_config(play->keeper)->n_instances, 1);
        assert_contains(problems_of(play), "/etc/hugeplan.d/b.conf:2: Pages");
        assert_contains(problems_of(play), "the last reload was refused");
        assert_text(round_of(play), "-");
        assert_text(state_text(play), "a 0:100");
        write_config(play, "b", "Pages=1\nNodes=0");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        run(play);
        assert_null(strstr(problems_of(play), "the last reload was refused"));
        assert_text(state_text(play), "a 0:120; b 0:1");
}

/* An instance that stands would fall, and that can be seen: nothing is written. */
PLAY_TEST(reload_refused) {
        settle(play, "Pages=100\nNodes=0", NULL);
        write_config(play, "b", "Pages=950\nNodes=0\nPriority=90");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_REFUSED);
        assert_false(keeper_is_working(play->keeper));
        const KeeperReloadResult result = keeper_reload_result(play->keeper);

        assert_int_equal(result.state, KEEPER_RELOAD_REFUSED);
        assert_contains(
                problems_text(play->tree->arena, &result.problems),
                "/etc/hugeplan.d/a.conf: a is ready, and would no longer be allowed to start: 100 "
                "pages of 2M (200M) do not fit");
        assert_text(state_text(play), "a 0:100");
        assert_int_equal(keeper_config(play->keeper)->n_instances, 1);
        assert_verdict(play, "a", "ready");
        assert_contains(problems_of(play), "the last reload was refused");
        /* By force it is done. */
        assert_int_equal(keeper_reload(play->keeper, true, play->now_usec), KEEPER_RELOAD_BEGUN);
        run(play);
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_APPLIED);
        assert_text(state_text(play), "b 0:950");
        assert_verdict(play, "a", "refused");
        assert_verdict(play, "b", "ready");
}

/* A unit that runs would not be let start another time. */
PLAY_TEST(reload_refused_for_who_runs) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        let_start(play, &gate);
        write_config(play, "a", "Pages=1001\nNodes=0\nUnit=a.service");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_REFUSED);
        assert_text(state_text(play), "a 0:100; hold a.service/a 100 any counted run r1");
        /* As many as fit beside what it runs with, when it has stopped, will do. */
        write_config(play, "a", "Pages=950\nNodes=0\nUnit=a.service");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        run(play);
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_APPLIED);
        assert_int_equal(play->pools[0].total, 950);
}

/* It looked well, and memory turned out to be fragmented: what was tried is taken back, and whoever stood
 * has what he had. */
/* Beside what a unit keeps that runs somebody would not fit: that can be seen, too. */
PLAY_TEST(reload_refused_beside_who_runs) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, "Pages=600\nNodes=0\nUnit=a.service", "Pages=300\nNodes=0");
        assert_text(let_start(play, &gate), "pass");
        write_config(play, "a", "Pages=600\nNodes=1\nUnit=a.service");
        write_config(play, "b", "Pages=700\nNodes=0");
        play->pools[1].total = 7; /* of others, who have come meanwhile */
        show_host(play);
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_REFUSED);
        assert_text(run(play), "-");
        const KeeperReloadResult result = keeper_reload_result(play->keeper);

        assert_contains(problems_text(play->tree->arena, &result.problems),
                        "b is ready, and would no longer be allowed to start");
        assert_text(round_of(play), "-");
        assert_int_equal(
                topology_pool(keeper_look(play->keeper)->topology, 1, 2 * MIB)->total_pages, 7);
        assert_text(state_text(play), "a 0:600; b 0:300; hold a.service/a 600 any counted run r1");
        /* By force both are laid elsewhere. */
        assert_int_equal(keeper_reload(play->keeper, true, play->now_usec), KEEPER_RELOAD_BEGUN);
        run(play);
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_APPLIED);
        assert_verdict(play, "b", "refused");
}

PLAY_TEST(reload_taken_back) {
        settle(play, "Pages=100\nNodes=0", "Pages=30\nNodes=1");
        play->pools[0].most = 150;
        write_config(play, "a", "Pages=200\nNodes=0");
        remove_config(play, "b");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        run(play);
        const KeeperReloadResult result = keeper_reload_result(play->keeper);

        assert_int_equal(result.state, KEEPER_RELOAD_REFUSED);
        assert_contains(problems_text(play->tree->arena, &result.problems),
                        "a is ready, and would no longer be allowed to start");
        assert_int_equal(keeper_config(play->keeper)->n_instances, 2);
        assert_text(state_text(play), "a 0:100; b 1:30");
        assert_int_equal(play->pools[0].total, 100);
        assert_int_equal(play->pools[1].total, 30);
        assert_verdict(play, "a", "ready");
        assert_verdict(play, "b", "ready");
        assert_int_equal(result.pools.n, 0);
        assert_int_equal(result.changes.n, 0);
}

/* Others have taken pages of a unit that runs, and they cannot be had again: a reload is none the worse for
 * it, and may bring what others need. */
PLAY_TEST(reload_beside_lost) {
        begin(play, "Pages=100\nNodes=1\nPlacement=bind\nUnit=a.service", NULL);
        Gate gate = starting(play, "a", "a.service");

        gate.policy = (MemoryPolicy){.kind = MEMORY_POLICY_BIND};
        id_set_add(&gate.policy.nodes, 1);
        round_of(play);
        assert_text(let_start(play, &gate), "pass");
        stop_unit(play, "a.service", 0, 0);
        start_unit(play, "a.service", 100, 0);
        set_pool(play, 1, play->pools[1].most = 60);
        assert_verdict(play, "a", "lost");
        write_config(play, "b", "Pages=30\nNodes=0");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        run(play);
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_APPLIED);
        assert_verdict(play, "b", "ready");
        assert_verdict(play, "a", "lost");
}

/* The same by force. */
PLAY_TEST(reload_forced) {
        settle(play, "Pages=100\nNodes=0", "Pages=30\nNodes=1");
        play->pools[0].most = 150;
        write_config(play, "a", "Pages=200\nNodes=0");
        remove_config(play, "b");
        assert_int_equal(keeper_reload(play->keeper, true, play->now_usec), KEEPER_RELOAD_BEGUN);
        run(play);
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_APPLIED);
        assert_verdict(play, "a", "refused");
        assert_text(state_text(play), "-");
        assert_int_equal(play->pools[1].total, 0);
}

/* While it is tried, what stood stays; one that is killed in between has not made it. */
PLAY_TEST(reload_killed) {
        ApplyOperation operation;

        settle(play, "Pages=100\nNodes=0", NULL);
        write_config(play, "a", "Pages=100\nNodes=1");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        assert_true(keeper_next(play->keeper, play->now_usec, &operation));
        assert_int_equal(operation.node, 1);
        assert_int_equal(play->pools[0].total, 100);
        assert_int_equal(keeper_units(play->keeper, play->tree->arena).n, 0);
        react(play, &operation);
        boot(play);
        round_of(play);
        assert_text(state_text(play), "a 1:100");
        assert_int_equal(play->pools[0].total, 0);
        assert_int_equal(play->pools[1].total, 100);
}

/* First the new pages, then the old ones go, where there is room for both. */
PLAY_TEST(reload_moves) {
        settle(play, "Pages=100\nNodes=0", NULL);
        write_config(play, "a", "Pages=100\nNodes=1");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        assert_text(run(play), "1:100 0:0");
        assert_text(state_text(play), "a 1:100");
}

/* While it is tried, who runs has his pages once, and nothing is kept of who could not start, or has none. */
PLAY_TEST(reload_beside_who_runs) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, "Pages=100\nNodes=0\nUnit=a.service", "Pages=30\nNodes=0");
        assert_text(let_start(play, &gate), "pass");
        write_config(play, "b", "Pages=40\nNodes=0");
        write_config(play, "c", "Engine=mongodb");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        assert_text(run(play), "0:140");
        assert_verdict(play, "c", "ready");
        /* Others have taken some of b's: it stands no more. */
        set_pool(play, 0, play->pools[0].most = 120);
        write_config(play, "b", "Pages=40\nNodes=1");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        assert_text(run(play), "0:100 1:40");
}

/* ---- changes by hand ---- */

PLAY_TEST(release) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, "Pages=100\nNodes=0\nUnit=a.service", "Pages=30\nNodes=1");
        keeper_release(play->keeper, "a", play->now_usec);
        assert_text(run(play), "0:0");
        const PoolChanges changes = keeper_pool_changes(play->keeper, play->tree->arena);

        assert_int_equal(changes.n, 1);
        assert_text(pool_change_format(play->tree->arena, &changes.items[0]),
                    "node 0: 100 -> 0 pages of 2M");
        assert_verdict(play, "a", "refused");
        assert_int_equal(status_of(play, "a")->reason.kind, REASON_RELEASED);
        assert_text(state_text(play), "a released; b 1:30");
        assert_text(round_of(play), "-");
        assert_false(keeper_wants_retry(play->keeper, play->now_usec));
        /* The next start wants them again. */
        assert_text(let_start(play, &gate), "pass");
        assert_int_equal(play->n_rounds, 1);
        assert_text(state_text(play), "a 0:100; b 1:30; hold a.service/a 100 any counted run r1");
        /* A unit that runs keeps its own. */
        keeper_release(play->keeper, "a", play->now_usec);
        assert_text(run(play), "-");
        assert_int_equal(play->pools[0].total, 100);
}

PLAY_TEST(release_until_reload) {
        settle(play, "Pages=100\nNodes=0", NULL);
        keeper_release(play->keeper, "a", play->now_usec);
        run(play);
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        run(play);
        assert_verdict(play, "a", "ready");
        assert_text(state_text(play), "a 0:100");
}

/* What a gate has found out holds until a reload finds it in the files, and beyond. */
PLAY_TEST(grow) {
        begin(play, "Engine=mariadb\nNodes=0\nUnit=a.service", NULL);
        const InstanceConfig *config = config_find(keeper_config(play->keeper), "a");
        PageCounts pages = {};

        *vec_push(play->tree->arena, &pages) = (PageCount){2 * MIB, 120};
        assert_true(keeper_grow(play->keeper, config, &pages, play->now_usec));
        run(play);
        assert_text(state_text(play), "a 0:120");
        assert_false(keeper_grow(play->keeper, config, &pages, play->now_usec));
        pages.items[0].pages = 70;
        assert_true(keeper_grow(play->keeper, config, &pages, play->now_usec));
        run(play);
        assert_int_equal(play->pools[0].total, 70);
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        run(play);
        assert_text(state_text(play), "a 0:70");
}

/* A figure beyond the host takes nothing from what stands for the last one: neither at once nor later, and it is taken
 * up when the figure is as before. */
PLAY_TEST(grow_beyond_the_host) {
        begin(play, "Engine=mariadb\nNodes=0\nUnit=a.service", NULL);
        const InstanceConfig *config = config_find(keeper_config(play->keeper), "a");
        PageCounts pages = {};

        *vec_push(play->tree->arena, &pages) = (PageCount){2 * MIB, 323};
        keeper_grow(play->keeper, config, &pages, play->now_usec);
        run(play);
        pages.items[0].pages = 2560;
        keeper_grow(play->keeper, config, &pages, play->now_usec);
        assert_text(run(play), "-");
        for (int i = 0; i < 2; i++) {
                assert_verdict(play, "a", "refused");
                assert_int_equal(play->pools[0].total, 323);
                assert_text(state_text(play), "a 0:323");
                assert_text(round_of(play), "-");
        }
        pages.items[0].pages = 323;
        keeper_grow(play->keeper, config, &pages, play->now_usec);
        assert_text(run(play), "-");
        assert_verdict(play, "a", "ready");
}

/* As many as its gate has found out: */
static void run_grown(Play *play, uint64_t pages) {
        PageCounts found = {};

        begin(play, "Engine=mariadb\nNodes=0\nUnit=a.service", NULL);
        *vec_push(play->tree->arena, &found) = (PageCount){2 * MIB, pages};
        keeper_grow(play->keeper, config_find(keeper_config(play->keeper), "a"), &found,
                    play->now_usec);
        run(play);
}

static const char *reload(Play *play) {
        keeper_reload(play->keeper, true, play->now_usec);
        run(play);
        return state_text(play);
}

/* Whose size is given has none that was found out, and who has gone neither: also when it is as before. */
PLAY_TEST(grow_is_forgotten) {
        run_grown(play, 120);

        write_config(play, "a", "Engine=mariadb\nPages=50\nNodes=0\nUnit=a.service");
        assert_text(reload(play), "a 0:50");
        write_config(play, "a", "Engine=mariadb\nNodes=0\nUnit=a.service");
        assert_text(reload(play), "a 0:50"); /* what stood, until it is known */
        assert_int_equal(status_of(play, "a")->reason.kind, REASON_SIZE_UNKNOWN);
        run_grown(play, 120);
        assert_text(state_text(play), "a 0:120");
        remove_config(play, "a");
        assert_text(reload(play), "-");
        write_config(play, "a", "Engine=mariadb\nNodes=0\nUnit=a.service");
        assert_text(reload(play), "-");
}

/* What stands in the configuration was found out later, and all else is derived from it. */
PLAY_TEST(grow_is_learned) {
        run_grown(play, 120);

        tree_write(play->tree, "/etc/hugeplan.d/a.conf.d/90-learned.conf",
                   "[Instance]\nPages=2M:80\n");
        assert_text(reload(play), "a 0:80");
        run_grown(play, 120);
        assert_text(state_text(play), "a 0:120");
        tree_write(play->tree, "/etc/hugeplan.d/a.conf.d/90-learned.conf", "");
        tree_write(play->tree, "/etc/hugeplan.d/a.conf.d/91-seen.conf",
                   "[Instance]\nX-Seen=2M:60\nX-SeenUnit=a.service\n");
        assert_text(reload(play), "a 0:60");
}
