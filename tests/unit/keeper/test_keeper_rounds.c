/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a keeper remembers from one round to the next: what trying has shown, whose the pages are, how long
 * to try, what was told. See test_keeper.c. */

#include "support/play.h"
#include "support/testing.h"

#include "base/size.h"
#include "host/state.h"
#include "model/names.h"
#include "model/problem.h"

static const LedgerInstance *instance_on_disk(const Play *play, const char *name) {
        const char *wrong;

        return ledger_instance(state_load(play->tree->root, play->tree->arena, "boot", &wrong),
                               name);
}

/* ---- what trying has shown ---- */

/* Of a pool that stayed short, what comes later was brought by others. */
PLAY_TEST(short_claims_no_more) {
        begin(play, "Pages=100\nNodes=0\nShortage=degrade", NULL);

        play->pools[0].most = 40;
        round_of(play);
        assert_int_equal(pool_on_disk(play, 0)->set_pages, 40);
        set_pool(play, 0, 55);
        verify(play);
        assert_int_equal(ledger_pool(keeper_look(play->keeper)->ledger, 0, 2 * MIB)->found_pages,
                         15);
}

/* A write that brings nothing at all has shown something as well. */
PLAY_TEST(nothing_brought_is_learned) {
        begin(play, "Pages=100\nPlacement=pack", NULL);

        play->pools[0].most = 0;
        assert_contains(round_of(play), "1:100");
        assert_verdict(play, "a", "ready");
}

/* Somebody is in a hurry: what is under way is finished, and the next round goes on. */
PLAY_TEST(hurry) {
        begin(play, "Pages=100\nPlacement=pack", NULL);

        play->pools[0].most = 0;
        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        keeper_stop_early(play->keeper);
        assert_text(run(play), "0:100"); /* once */
        assert_contains(round_of(play), "1:100");
        assert_verdict(play, "a", "ready");
}

/* What a reload would do: it would be tried again. */
PLAY_TEST(look_ahead_knows_no_limits) {
        begin(play, "Pages=100\nNodes=0", NULL);
        Diags falls = diags_in(play->tree->arena);

        play->pools[0].most = 40;
        round_of(play);
        assert_text(grants_text(play->tree->arena, keeper_look(play->keeper)->plan, "a"), "-");
        assert_text(grants_text(play->tree->arena,
                                keeper_look_ahead(play->keeper, play->tree->arena, &falls)->plan,
                                "a"),
                    "0:100");
        assert_int_equal(falls.list.n, 0);
}

/* Only who had all that he wants keeps what is left of it when others have come. */
PLAY_TEST(standing_is_noted) {
        begin(play, "Pages=100\nNodes=0\nShortage=degrade", "Pages=30\nNodes=1");

        play->pools[0].most = 40;
        round_of(play);
        assert_false(instance_on_disk(play, "a")->has_stood);
        assert_true(instance_on_disk(play, "b")->has_stood);
        play->pools[0].most = UINT64_MAX;
        round_of(play);
        assert_true(instance_on_disk(play, "a")->has_stood);
}

/* Also at the end of a round that another one follows at once, or that somebody has hurried. */
PLAY_TEST(standing_is_noted_in_a_hurry) {
        begin(play, "Pages=100\nNodes=0", NULL);

        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        keeper_stop_early(play->keeper);
        assert_text(run(play), "0:100");
        assert_true(instance_on_disk(play, "a")->has_stood);
}

/* ---- what was done ---- */

static const Attempts *attempts_of(const Play *play) {
        return &keeper_judge(play->keeper, play->tree->arena, false)->attempts;
}

/* Of the last round that did anything; of each pool what has come of them is told in one line. */
PLAY_TEST(attempts) {
        settle(play, "Pages=100\nNodes=0", "Pages=30\nNodes=1");
        assert_int_equal(attempts_of(play)->n, 2);
        assert_contains(text_string(&play->noted),
                        "node 0: 100 pages of 2M are reserved, 200M (before: 0); write x 1 in 1ms\n"
                        "node 1: 30 pages of 2M are reserved, 60M (before: 0); write x 1 in 1ms\n");
        round_of(play);
        assert_int_equal(attempts_of(play)->n, 2);
        set_pool(play, 0, 60);
        round_of(play);
        assert_int_equal(attempts_of(play)->n, 1);
        assert_int_equal(attempts_of(play)->items[0].record.pages_before, 60);
}

/* The same shortage is told once, however often it is tried; with other figures, again. */
PLAY_TEST(shortage_is_told_once) {
        static const char forty[] = "node 0: 40 of 100 pages of 2M could be reserved, ";
        begin(play, "Pages=100\nNodes=0", NULL);

        play->pools[0].most = 40;
        for (int i = 0; i < 3; i++)
                round_of(play);
        assert_int_equal(count(&play->told, forty), 1);
        assert_int_equal(count(&play->noted, "given back"), 0);
        play->pools[0].most = 60;
        round_of(play);
        assert_int_equal(count(&play->told, "node 0: 60 of 100 pages"), 1);
        play->pools[0].most = UINT64_MAX;
        round_of(play);
        assert_contains(text_string(&play->noted), "node 0: 100 pages of 2M are reserved");
        play->pools[0].most = 40;
        set_pool(play, 0, 40);
        round_of(play);
        assert_int_equal(count(&play->told, forty), 2);
}

/* What others had taken is there again; 180 GB are one line, not one for each slice. */
PLAY_TEST(repair_is_told) {
        settle(play, "Pages=100\nNodes=0", NULL);
        set_pool(play, 0, 60);
        round_of(play);
        assert_contains(text_string(&play->noted),
                        "node 0: 100 pages of 2M are reserved again, 200M (before: 60); write");
        assert_int_equal(count(&play->noted, "node 0: "), 2);
}

/* Of each node. */
PLAY_TEST(repairs_are_told) {
        settle(play, "Pages=100\nNodes=0", "Pages=30\nNodes=1");
        set_pool(play, 0, 60);
        set_pool(play, 1, 10);
        round_of(play);
        assert_contains(text_string(&play->noted), "node 0: 100 pages of 2M are reserved again");
        assert_contains(text_string(&play->noted), "node 1: 30 pages of 2M are reserved again");
}

/* What was wanted is a figure of an event where it was more than there was. */
PLAY_TEST(figures_are_told) {
        settle(play, "Pages=100\nNodes=0", NULL);
        assert_true(play->moved.pages_wanted.is_known);
        assert_int_equal(play->moved.pages_wanted.value, 100);
        remove_config(play, "a");
        keeper_reload(play->keeper, true, play->now_usec);
        run(play);
        assert_int_equal(play->moved.pages_before.value, 100);
        assert_false(play->moved.pages_wanted.is_known);
}

/* What the first writes have taught is shown beside what was done by it. */
PLAY_TEST(attempts_of_all_passes) {
        begin(play, "Pages=100\nPlacement=pack", NULL);

        play->pools[0].most = 40;
        round_of(play);
        const Attempts *attempts = attempts_of(play);

        assert_int_equal(attempts->items[0].node, 0);
        assert_int_equal(attempts->items[attempts->n - 1].node, 1);
        assert_int_equal(attempts->items[attempts->n - 1].record.pages_after, 100);
}

/* The last 200 are remembered, without a gap. */
PLAY_TEST(attempts_are_bounded) {
        begin(play, "Pages=1000\nShortage=degrade", NULL);
        const Attempt *before = NULL;

        for (unsigned node = 0; node < NODES; node++)
                play->pools[node] = (PlayedPool){.most = 0, .more = 1};
        round_of(play);
        const Attempts *attempts = attempts_of(play);

        assert_int_equal(attempts->n, 200);
        VEC_FOREACH(attempt, attempts) {
                if (before && before->node == attempt->node)
                        assert_int_equal(attempt->record.pages_before, before->record.pages_after);
                before = attempt;
        }
        assert_int_equal(before->node, 1);
        assert_int_equal(before->record.pages_after, play->pools[1].total);
}

/* Besides the pools: System V segments of huge pages need the kernel's limits. */
PLAY_TEST(kernel_limits_are_set) {
        tree_write(play->tree, PATH_SHMMAX, "1024\n");
        tree_write(play->tree, PATH_SHMALL, "1\n");
        begin(play, "Pages=100\nNodes=0\nEngine=oracle\nSharedMemory=sysv", NULL);
        assert_text(tree_read(play->tree, PATH_SHMMAX), "1024\n");
        round_of(play);
        assert_text(tree_read(play->tree, PATH_SHMMAX), "209715200");
}

/* So do transparent huge pages, which are told when they are set, and only then. */
PLAY_TEST(thp_is_set) {
        static const char told[] = "transparent huge pages are now 'never'\n";

        tree_write(play->tree, PATH_THP "/enabled", "[always] madvise never\n");
        tree_write(play->tree, "/etc/hugeplan.d/00.conf",
                   "[Host]\nKeepFree=1G\nTransparentHugePages=never\n");
        settle(play, "Pages=100\nNodes=0", NULL);
        assert_text(tree_read(play->tree, PATH_THP "/enabled"), "never");
        assert_contains(text_string(&play->noted), told);
        tree_write(play->tree, PATH_THP "/enabled", "always madvise [never]\n");
        play->noted = text_in(play->tree->arena);
        round_of(play);
        assert_null(strstr(text_string(&play->noted), told));
}

/* ---- larger pages that are split ---- */

#define LARGE_FORMAT "/sys/devices/system/node/node%u/hugepages/hugepages-1048576kB/%s"

static void show_large_pool(const Play *play, unsigned node, unsigned pages) {
        static const char *const counts[] = {"nr_hugepages", "free_hugepages"};
        const Tree *tree = play->tree;

        for (size_t i = 0; i < ARRAY_LEN(counts); i++)
                tree_write(tree, arena_printf(tree->arena, LARGE_FORMAT, node, counts[i]),
                           arena_printf(tree->arena, "%u\n", pages));
        tree_write(tree, arena_printf(tree->arena, LARGE_FORMAT, node, "surplus_hugepages"), "0\n");
        tree_write(tree, arena_printf(tree->arena, LARGE_FORMAT, node, "demote"), "");
        tree_write(tree, arena_printf(tree->arena, LARGE_FORMAT, node, "demote_size"), "2048kB\n");
        tree_write(tree, "/sys/kernel/mm/hugepages/hugepages-1048576kB/resv_hugepages", "0\n");
        tree_write(tree, "/sys/kernel/mm/hugepages/hugepages-1048576kB/demote_size", "2048kB\n");
}

/* What comes from pages that were found was found, too: it stays when nobody wants it any more. */
/* Who sets it again at once, is told of once: a round in between that was in vain makes no news of it. */
PLAY_TEST(drift_that_stays_is_told_once) {
        static const char always[] = "[always] madvise never\n";

        tree_write(play->tree, "/etc/hugeplan.d/00.conf",
                   "[Host]\nKeepFree=1G\nTransparentHugePages=never\n");
        tree_write(play->tree, PATH_THP "/enabled", "always madvise [never]\n");
        settle(play, "Pages=100\nNodes=0", NULL);
        for (int i = 0; i < 3; i++) {
                tree_write(play->tree, PATH_THP "/enabled", always);
                assert_true(verify(play));
                tree_write(play->tree, PATH_THP "/enabled", always);
                run(play);
        }
        assert_text(text_string(&play->told),
                    "drift: " PATH_THP
                    "/enabled is no longer 'never'; 'hugeplanctl check' lists what may set it\n");
}

PLAY_TEST(split) {
        const char *wrong;
        ApplyOperation operation;

        for (unsigned node = 0; node < NODES; node++)
                show_large_pool(play, node, 2);
        set_pool(play, 0, NODE_PAGES); /* memory has no more */
        begin(play, "Pages=1100\nPageSize=2M\nNodes=0", NULL);
        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        while (keeper_next(play->keeper, 0, &operation)) {
                assert_int_equal(operation.move.action, ESCALATION_DEMOTE);
                show_large_pool(play, 0, 1);
                set_pool(play, 0, NODE_PAGES + 512);
                keeper_done(play->keeper, &operation, 0, 1);
        }
        assert_verdict(play, "a", "ready");
        const Ledger *ledger = state_load(play->tree->root, play->tree->arena, "boot", &wrong);

        assert_int_equal(ledger_pool(ledger, 0, GIB)->found_pages, 1);
        assert_int_equal(ledger_pool(ledger, 0, 2 * MIB)->found_pages, NODE_PAGES + 512);
        remove_config(play, "a");
        keeper_reload(play->keeper, false, 0);
        assert_text(run(play), "-");
}

/* ---- how long to try ---- */

PLAY_TEST(until_when) {
        tree_write(play->tree, "/etc/hugeplan.d/00.conf",
                   "[Host]\nKeepFree=1G\nReserveTimeout=100s\n");
        begin(play, "Pages=100\nNodes=0", NULL);
        play->pools[0].most = 40;
        keeper_begin(play->keeper, KEEPER_FRESH, 1000);
        assert_false(keeper_wants_retry(play->keeper, 1000)); /* a round is under way */
        run(play);
        assert_true(keeper_wants_retry(play->keeper, 1000 + 100 * USEC_PER_SEC - 1));
        assert_false(keeper_wants_retry(play->keeper, 1000 + 100 * USEC_PER_SEC));
        /* Trying again makes it no longer, asking for it anew does. */
        keeper_begin(play->keeper, KEEPER_RETRY, 50 * USEC_PER_SEC);
        run(play);
        assert_false(keeper_wants_retry(play->keeper, 1000 + 100 * USEC_PER_SEC));
        keeper_begin(play->keeper, KEEPER_FRESH, 50 * USEC_PER_SEC);
        run(play);
        assert_true(keeper_wants_retry(play->keeper, 150 * USEC_PER_SEC - 1));
}

/* Who asks while a round is under way gets one of his own: the first is cut short, and from the second on it is
 * tried for as long as he may expect. */
PLAY_TEST(until_when_of_another) {
        ApplyOperation operation;

        tree_write(play->tree, "/etc/hugeplan.d/00.conf",
                   "[Host]\nKeepFree=1G\nReserveTimeout=100s\n");
        begin(play, "Pages=100\nNodes=0", NULL);
        play->pools[0].most = 40;
        const char *alone = round_of(play);

        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        assert_true(keeper_next(play->keeper, 0, &operation));
        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        react(play, &operation);
        keeper_done(play->keeper, &operation, 0, 1);
        play->now_usec = 50 * USEC_PER_SEC;
        assert_text(run(play), alone);
        assert_true(keeper_wants_retry(play->keeper, 150 * USEC_PER_SEC - 1));
}

/* When memory comes it is tried again, beside whatever others have changed; not when there is nobody whom it
 * might help. */
PLAY_TEST(memory_comes) {
        settle(play, "Pages=100\nNodes=0", NULL);
        assert_false(verify_as(play, true, true));
        set_pool(play, 0, 60);
        assert_false(verify_as(play, true, false));
        assert_true(play->wants_repair);
        assert_text(round_of(play), "0:100");
        write_config(play, "b", "Pages=30\nNodes=7");
        keeper_reload(play->keeper, false, 0);
        run(play);
        assert_int_equal(status_of(play, "b")->reason.kind, REASON_NODE_ABSENT);
        assert_false(verify(play));
        assert_true(verify_as(play, true, true));
        run(play);
        set_pool(play, 0, 60);
        assert_true(verify_as(play, true, false));
        assert_false(play->wants_repair);
        assert_text(run(play), "0:100");
}

/* What trying has shown before is forgotten. */
PLAY_TEST(memory_comes_to_who_is_short) {
        begin(play, "Pages=100\nNodes=0", NULL);

        play->pools[0].most = 40;
        round_of(play);
        play->pools[0].most = UINT64_MAX;
        assert_true(verify_as(play, true, true));
        assert_text(run(play), "0:100");
        assert_verdict(play, "a", "ready");
}

/* Or to one whose node may come with it, though nobody else is there. */
PLAY_TEST(memory_comes_to_absent_node) {
        settle(play, "Pages=100\nNodes=7", NULL);
        assert_int_equal(status_of(play, "a")->reason.kind, REASON_NODE_ABSENT);
        assert_false(verify(play));
        assert_true(verify_as(play, true, true));
        assert_false(play->wants_repair);
        assert_text(run(play), "-");
}

/* ---- who sets the pools of all nodes ---- */

static const uint64_t aftermath_usec = 10 * USEC_PER_SEC;

/* Others took so many PAGES, and they were put back; then as many turn up on the other node. Whether they are
 * known for what they are: how many were found there. */
static uint64_t found_after(Play *play, uint64_t pages, uint64_t written_usec,
                            uint64_t restored_usec, uint64_t now_usec) {
        if (written_usec > 0)
                keeper_note_host_written(play->keeper, written_usec);
        play->now_usec = restored_usec;
        set_pool(play, 0, 100 - pages);
        assert_true(verify(play));
        assert_text(run(play), "0:100");
        play->now_usec = now_usec;
        set_pool(play, 1, pages);
        verify(play);
        run(play);
        return ledger_pool(keeper_look(play->keeper)->ledger, 1, 2 * MIB)->found_pages;
}

/* As when tuned writes what sysctl has just written. */
PLAY_TEST(aftermath) {
        static const uint64_t written = 100 * USEC_PER_SEC;

        settle(play, "Pages=100\nNodes=0", NULL);
        assert_int_equal(found_after(play, 50, written, written + aftermath_usec - 1,
                                     written + 2 * aftermath_usec - 2),
                         0);
        assert_int_equal(play->pools[1].total, 0);
        assert_int_equal(found_after(play, 1, 2 * written, 2 * written, 2 * written + 1), 0);
        assert_int_equal(play->pools[1].total, 0);
}

/* What comes later is of others. */
PLAY_TEST(long_after) {
        static const uint64_t written = 100 * USEC_PER_SEC;

        settle(play, "Pages=100\nNodes=0", NULL);
        assert_int_equal(found_after(play, 50, written, written, written + aftermath_usec), 50);
        assert_int_equal(play->pools[1].total, 50);
}

/* A round between them in which nothing is put back makes it no later. */
PLAY_TEST(long_after_with_rounds) {
        static const uint64_t written = 100 * USEC_PER_SEC;

        settle(play, "Pages=100\nNodes=0", NULL);
        keeper_note_host_written(play->keeper, written);
        play->now_usec = written;
        set_pool(play, 0, 50);
        assert_text(round_of(play), "0:100");
        play->now_usec = written + aftermath_usec - 1;
        assert_text(round_of(play), "-");
        play->now_usec = written + aftermath_usec;
        set_pool(play, 1, 50);
        verify(play);
        assert_int_equal(ledger_pool(keeper_look(play->keeper)->ledger, 1, 2 * MIB)->found_pages,
                         50);
}

PLAY_TEST(put_back_long_after) {
        static const uint64_t written = 100 * USEC_PER_SEC;

        settle(play, "Pages=100\nNodes=0", NULL);
        assert_int_equal(
                found_after(play, 50, written, written + aftermath_usec, written + aftermath_usec),
                50);
}

/* One pool was lowered, and nobody has written to all: that explains nothing elsewhere. */
PLAY_TEST(no_aftermath) {
        settle(play, "Pages=100\nNodes=0", NULL);
        assert_int_equal(found_after(play, 50, 0, 100, 200), 50);
}

/* ---- a host that is held back by its boots ---- */

static void save_guard(const Play *play, uint64_t failed_boots) {
        BootGuard guard = {.failed_boots = failed_boots, .boot_id = "before"};

        assert_int_equal(boot_count_save(play->tree->root, play->tree->arena, &guard), 0);
}

/* Decided once for each boot, and told then; a reload plans everything again. */
PLAY_TEST(boot_guard) {
        static const char told[] = "3 boots in a row have failed";

        save_guard(play, 3);
        begin(play, "Pages=100\nNodes=0", NULL);
        assert_contains(text_string(&play->told), told);
        assert_text(round_of(play), "-");
        assert_int_equal(status_of(play, "a")->reason.kind, REASON_BOOT_GUARD);
        save_guard(play, 0);
        play->told = text_in(play->tree->arena);
        boot(play);
        assert_text(round_of(play), "-");
        assert_null(strstr(text_string(&play->told), told));
        assert_int_equal(keeper_reload(play->keeper, false, 0), KEEPER_RELOAD_BEGUN);
        assert_text(run(play), "0:100");
        save_guard(play, 3);
        boot(play);
        assert_verdict(play, "a", "ready");
        assert_null(strstr(text_string(&play->told), told));
}

/* After a reload that was taken back everybody is where he was, though he might as well be where he was tried. */
PLAY_TEST(taken_back_to_where_it_was) {
        begin(play, "Pages=100", "Pages=30\nNodes=0");

        play->pools[1].most = 0;
        round_of(play);
        assert_text(state_text(play), "a 0:100; b 0:30");
        play->pools[1].most = UINT64_MAX;
        play->pools[0].most = 150;
        assert_text(round_of(play), "-");
        write_config(play, "a", "Pages=100\nNodes=1");
        write_config(play, "b", "Pages=200\nNodes=0");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        assert_contains(run(play), "1:100");
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_REFUSED);
        assert_text(state_text(play), "a 0:100; b 0:30");
        assert_int_equal(play->pools[0].total, 130);
        assert_int_equal(play->pools[1].total, 0);
}

/* Nor is anything else as it was tried, whether the configuration of before sets it or leaves it alone. */
static void check_settings_taken_back(Play *play, const char *before) {
        static const char shown[] = "always [madvise] never\n",
                          tried[] = "[always] madvise never\n";

        tree_write(play->tree, "/etc/hugeplan.d/00.conf", before);
        tree_write(play->tree, PATH_THP "/enabled", shown);
        tree_write(play->tree, PATH_SHMMAX, "1024\n");
        tree_write(play->tree, PATH_SHMALL, "999999\n");
        write_config(play, "a", "Pages=100\nNodes=0");
        play->pools[0].most = UINT64_MAX;
        boot(play);
        round_of(play);
        play->pools[0].most = 150;
        tree_write(play->tree, "/etc/hugeplan.d/00.conf",
                   "[Host]\nKeepFree=1G\nTransparentHugePages=always\n");
        write_config(play, "a", "Pages=200\nNodes=0\nEngine=oracle\nSharedMemory=sysv");
        assert_int_equal(keeper_reload(play->keeper, false, play->now_usec), KEEPER_RELOAD_BEGUN);
        assert_text(tree_read(play->tree, PATH_THP "/enabled"), "always");
        assert_text(tree_read(play->tree, PATH_SHMMAX), "419430400");
        /* As the kernel shows it. */
        tree_write(play->tree, PATH_THP "/enabled", tried);
        run(play);
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_REFUSED);
        assert_text(tree_read(play->tree, PATH_THP "/enabled"), "madvise");
        assert_text(tree_read(play->tree, PATH_SHMMAX), "1024");
}

PLAY_TEST(settings_taken_back) {
        check_settings_taken_back(play, "[Host]\nKeepFree=1G\nTransparentHugePages=keep\n");
        check_settings_taken_back(play, "[Host]\nKeepFree=1G\nTransparentHugePages=madvise\n");
}

/* Where there is no memory for what is and what is to be, what is gives way. */
PLAY_TEST(reload_without_room_for_both) {
        settle(play, "Pages=600\nNodes=0", NULL);
        write_config(play, "a", "Pages=600\nNodes=1");
        write_config(play, "b", "Pages=900\nNodes=0");
        assert_int_equal(keeper_reload(play->keeper, false, 0), KEEPER_RELOAD_BEGUN);
        run(play);
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_APPLIED);
        assert_text(state_text(play), "a 1:600; b 0:900");
}

/* ---- changes by hand ---- */

/* Each gate finds out about its own instance. */
PLAY_TEST(grow_two) {
        begin(play, "Engine=mariadb\nNodes=0", "Engine=mariadb\nNodes=1");
        PageCounts pages = {};

        *vec_push(play->tree->arena, &pages) = (PageCount){2 * MIB, 120};
        assert_true(keeper_grow(play->keeper, config_find(keeper_config(play->keeper), "a"), &pages,
                                0));
        /* The round that brings them is under way. */
        assert_true(keeper_grow(play->keeper, config_find(keeper_config(play->keeper), "a"), &pages,
                                0));
        run(play);
        pages.items[0].pages = 30;
        assert_true(keeper_grow(play->keeper, config_find(keeper_config(play->keeper), "b"), &pages,
                                0));
        run(play);
        assert_text(state_text(play), "a 0:120; b 1:30");
}

PLAY_TEST(no_changes_before) {
        begin(play, "Pages=100\nNodes=0", NULL);

        assert_int_equal(keeper_pool_changes(play->keeper, play->tree->arena).n, 0);
        round_of(play);
        assert_int_equal(keeper_pool_changes(play->keeper, play->tree->arena).n, 0);
}

PLAY_TEST(rescue_mode_is_told) {
        begin(play, "Pages=100\nNodes=0", NULL);

        keeper_hold_back(play->keeper);
        assert_contains(text_string(&play->noted), "rescue mode: nothing is reserved");
}
