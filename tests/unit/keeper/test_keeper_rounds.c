/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a keeper remembers from one round to the next: what trying has shown, whose the pages are, how long
 * to try, what was told. See test_keeper.c. */

#include "support/play.h"
#include "support/testing.h"

#include "base/size.h"
#include "host/state.h"
#include "model/names.h"

/* ---- what trying has shown ---- */

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
