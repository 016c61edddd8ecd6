/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The keeper on a host that is a directory: rounds, gates, reloads, units that stop; after each what is on disk. */

#include "support/play.h"
#include "support/testing.h"

#include "base/size.h"
#include "model/names.h"

#define LOWERED(pages)                                             \
        "drift: node 0 has " pages " pages of 2M instead of 100; " \
        "'hugeplanctl check' lists what may set it\n"

/* ---- rounds ---- */

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

/* ---- what others change ---- */

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

/* ---- gates ---- */

/* It is refused with the reason, as long as rounds bring it no nearer; and when its pages are there after
 * all, somebody is told to start it. */
PLAY_TEST(gate_refuses) {
        begin(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        Gate gate = starting(play, "a", "a.service");

        play->pools[0].most = 60;
        round_of(play);
        assert_contains(let_start(play, &gate), "refuse: ");
        assert_uint_in_range(play->n_rounds, 1, 2);
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

/* ---- units that stop ---- */

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
                remove(tree_path(play->tree, PATH_LEDGER));
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

/* Nor is it lost with a reload that is rolled back: b cannot have what its file asks for. */
PLAY_TEST(grow_during_rolled_back_reload) {
        settle(play, "Engine=mariadb\nNodes=0\nUnit=a.service", "Pages=30\nNodes=1");
        const InstanceConfig *config = config_find(keeper_config(play->keeper), "a");
        PageCounts pages = {};

        *vec_push(play->tree->arena, &pages) = (PageCount){2 * MIB, 80};
        keeper_grow(play->keeper, config, &pages, play->now_usec);
        run(play);
        play->pools[1].most = 40;
        write_config(play, "b", "Pages=50\nNodes=1");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        config = config_find(keeper_config(play->keeper), "a");
        pages.items[0].pages = 120;
        keeper_grow(play->keeper, config, &pages, play->now_usec);
        run(play);
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_REFUSED);
        assert_text(state_text(play), "a 0:120; b 1:30");
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
        tree_write(play->tree, "/etc/hugeplan.d/a.conf.d/90-learned.conf",
                   "[Instance]\nX-Seen=2M:60\nX-SeenUnit=a.service\n");
        assert_text(reload(play), "a 0:60");
}
