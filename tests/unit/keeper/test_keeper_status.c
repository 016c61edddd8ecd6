/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a keeper says of itself, and what it writes besides the pools: see test_keeper.c. */

#include "support/play.h"
#include "support/testing.h"

#include "apply/host_apply.h"
#include "base/size.h"
#include "host/state.h"
#include "model/names.h"
#include "model/problem.h"

#include <signal.h>
#include <sys/stat.h>

static const Status *judge(const Play *play, bool is_retrying) {
        return keeper_judge(play->keeper, play->tree->arena, is_retrying);
}

/* ---- what it does ---- */

PLAY_TEST(phases) {
        begin(play, "Pages=100\nNodes=0", NULL);

        assert_text(judge(play, false)->phase, "idle");
        assert_text(judge(play, true)->phase, "retrying");
        assert_text(verdict_name(judge(play, false)->verdict), "refused");
        assert_text(verdict_name(judge(play, true)->verdict), "pending");
        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        assert_text(judge(play, false)->phase, "reserving");
        assert_text(verdict_name(judge(play, false)->verdict), "pending");
        run(play);
        assert_text(verdict_name(judge(play, false)->verdict), "ready");
        keeper_hold_back(play->keeper);
        assert_text(judge(play, false)->phase, "held back (rescue mode)");
}

/* ---- what is wrong ---- */

static const Diag *last_problem(const Play *play) {
        const Diags *problems = &judge(play, false)->problems;

        return &problems->list.items[problems->list.n - 1];
}

/* Each with what is to be done about it. */
PLAY_TEST(reload_that_failed) {
        settle(play, "Pages=100\nNodes=0", NULL);
        write_config(play, "b", "Pages=x");
        keeper_reload(play->keeper, false, 0);
        const Diag *last = last_problem(play);

        assert_text(last->id, problem_id(PROBLEM_CONFIG_REJECTED));
        assert_text(last->remedy, "correct the files and run 'hugeplanctl reload'");
        write_config(play, "b", "Pages=950\nNodes=0\nPriority=90");
        keeper_reload(play->keeper, false, 0);
        last = last_problem(play);
        assert_text(last->id, problem_id(PROBLEM_RELOAD_REFUSED));
        assert_contains(last->remedy, "--force applies them anyway");
        assert_contains(text_string(&play->told), "the configuration has mistakes");
        assert_contains(text_string(&play->told), "the reload is refused");
}

PLAY_TEST(problems_of_host) {
        BootGuard guard = {.failed_boots = 3, .boot_id = "before"};

        tree_write(play->tree, "/etc/group", "root:x:0:\n");
        assert_int_equal(boot_count_save(play->tree->root, play->tree->arena, &guard), 0);
        begin(play, "Pages=100\nNodes=0\nEngine=oracle\nSharedMemory=sysv", NULL);
        assert_contains(problems_of(play), "3 boots in a row have failed");
        tree_write(play->tree, PATH_HUGETLB_SHM_GROUP, "0\n");
        round_of(play);
        assert_contains(problems_of(play), "the group 'hugetlb' does not exist");
}

/* ---- what it writes besides ---- */

PLAY_TEST(guard_of_pool) {
        begin(play, "Pages=1\nNodes=0", NULL);
        struct stat before, after;

        assert_null(tree_read(play->tree, PATH_SYSCTL_GUARD));
        round_of(play);
        assert_text(tree_read(play->tree, PATH_SYSCTL_GUARD), guard_text(play->tree->arena, 1));
        /* What is as it should be is not written again. */
        stat(tree_path(play->tree, PATH_SYSCTL_GUARD), &before);
        round_of(play);
        stat(tree_path(play->tree, PATH_SYSCTL_GUARD), &after);
        assert_int_equal(before.st_ino, after.st_ino);
        write_config(play, "a", "Pages=30\nNodes=0");
        keeper_reload(play->keeper, false, 0);
        run(play);
        assert_text(tree_read(play->tree, PATH_SYSCTL_GUARD), guard_text(play->tree->arena, 30));
        remove_config(play, "a");
        keeper_reload(play->keeper, false, 0);
        run(play);
        assert_null(tree_read(play->tree, PATH_SYSCTL_GUARD));
}

/* Files cannot be made longer: as where a file system is full. */
static struct rlimit fill_host(void) {
        struct rlimit before;

        signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, before.rlim_max});
        return before;
}

/* What cannot be written is told, and tried again with the next round. */
PLAY_TEST(cannot_write) {
        ApplyOperation operation;

        tree_write(play->tree, PATH_THP "/enabled", "[always] madvise never\n");
        tree_write(play->tree, PATH_SHMMAX, "1024\n");
        tree_write(play->tree, PATH_SHMALL, "1\n");
        tree_write(play->tree, "/etc/hugeplan.d/00.conf",
                   "[Host]\nKeepFree=1G\nTransparentHugePages=never\n");
        begin(play, "Pages=100\nNodes=0\nEngine=oracle\nSharedMemory=sysv", NULL);
        const struct rlimit before = fill_host();

        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        assert_contains(problems_of(play), "cannot set " PATH_THP "/enabled: File too large");
        assert_contains(problems_of(play), "cannot set " PATH_SHMMAX ": File too large");
        assert_null(strstr(text_string(&play->noted), " now "));
        while (keeper_next(play->keeper, 0, &operation)) {
                setrlimit(RLIMIT_FSIZE, &before);
                react(play, &operation);
                fill_host();
                keeper_done(play->keeper, &operation, 0, 1);
        }
        assert_contains(problems_of(play), "cannot write " PATH_LEDGER ": File too large; if");
        verify(play);
        setrlimit(RLIMIT_FSIZE, &before);
        assert_int_equal(count(&play->told, "cannot write " PATH_LEDGER ": File too large"), 1);
        assert_contains(text_string(&play->told),
                        "cannot keep " PATH_SYSCTL_GUARD " up to date: File too large");
        /* The next look stores it. */
        assert_text(state_text(play), "-");
        verify(play);
        assert_text(state_text(play), "a 0:100");
        assert_null(strstr(problems_of(play), "cannot write"));
        tree_write(play->tree, PATH_THP "/enabled", "[always] madvise never\n");
        tree_write(play->tree, PATH_SHMMAX, "1024\n");
        round_of(play);
        assert_null(strstr(problems_of(play), "cannot set"));
        assert_contains(text_string(&play->noted), "transparent huge pages are now 'never'");
        assert_contains(text_string(&play->noted), PATH_SHMMAX " is now 209715200");
        assert_text(state_text(play), "a 0:100");
}
