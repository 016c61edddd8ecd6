/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A keeper on a host that cannot be read, or of which one file cannot: nothing is concluded from that, it is told
 * once, and tried again. That it holds for every single read is in property/test_read_faults.c. */

#include "support/play.h"

#include "base/size.h"
#include "host/boot_guard_file.h"
#include "model/names.h"
#include "model/problem.h"

#include <unistd.h>

static void save_guard(const Play *play, uint64_t failed_boots) {
        const BootGuard guard = {.failed_boots = failed_boots, .boot_id = "before"};

        assert_int_equal(boot_guard_save(play->tree->root, &guard), 0);
}

static size_t count(const Text *text, const char *needle) {
        size_t n = 0;

        for (const char *at = text_string(text); (at = strstr(at, needle)); at++)
                n++;
        return n;
}

/* What was known stands; it is told once, and once that it is over. */
static void test_host_cannot_be_read(void **state) {
        Play *play = begin(state, "Pages=100\nNodes=0", NULL);
        bool wants_repair;

        round_of(play);
        const HostFiles before = break_host();

        for (int i = 0; i < 2; i++) {
                wants_repair = false;
                assert_false(keeper_verify(play->keeper, true, true, 0, &wants_repair));
                assert_true(wants_repair);
                assert_true(keeper_wants_retry(play->keeper, UINT64_MAX));
                assert_text(round_of(play), "-");
        }
        assert_int_equal(keeper_reload(play->keeper, true, 0), KEEPER_RELOAD_REJECTED);
        keeper_release(play->keeper, "a", 0);
        assert_text(run(play), "-");
        assert_int_equal(keeper_pool_changes(play->keeper, play->tree->arena).n, 0);
        assert_int_equal(keeper_plan(play->keeper)->n_instances, 1);
        mend_host(&before);
        assert_int_equal(count(&play->told, "cannot be read: Too many open files; plan and pages "
                                            "stay as they are"),
                         1);
        assert_null(strstr(text_string(&play->noted), "can be read again"));
        /* What is shown stays so until it was tried again. */
        assert_contains(problems_of(play), "cannot be read: Too many open files");
        /* What was asked for meanwhile is done now. */
        assert_true(keeper_verify(play->keeper, false, true, 0, &wants_repair));
        assert_false(wants_repair);
        assert_text(run(play), "0:0");
        assert_int_equal(count(&play->noted, "can be read again"), 1);
        assert_null(strstr(problems_of(play), "cannot be read"));
        assert_false(keeper_wants_retry(play->keeper, 0));
}

/* A reload that was begun is taken back when it cannot be seen what became of it. */
static void test_reload_cannot_be_read(void **state) {
        Play *play = begin(state, "Pages=100\nNodes=0", NULL);
        ApplyOperation operation;

        round_of(play);
        write_config(play, "a", "Pages=100\nNodes=1");
        assert_int_equal(keeper_reload(play->keeper, false, 0), KEEPER_RELOAD_BEGUN);
        assert_true(keeper_next(play->keeper, 0, &operation));
        react(play, &operation);
        const HostFiles before = break_host();

        keeper_done(play->keeper, &operation, 0, 1);
        assert_false(keeper_next(play->keeper, 0, &operation));
        assert_false(keeper_is_working(play->keeper));
        mend_host(&before);
        const KeeperReloadResult result = keeper_reload_result(play->keeper);

        assert_int_equal(result.state, KEEPER_RELOAD_REJECTED);
        assert_contains(text_string(&play->told),
                        "the host cannot be read; the previous plan stays in effect");
        assert_contains(problems_text(play->tree->arena, &result.problems), "cannot be read");
        assert_text(grants_text(play->tree->arena, keeper_plan(play->keeper), "a"), "0:100");
        assert_text(round_of(play), "1:0");
        assert_int_equal(play->pools[0].total, 100);
}

/* What a write has brought could not be read: that it was nothing is not known, and the round goes on. */
static void test_result_cannot_be_read(void **state) {
        Play *play = begin(state, "Pages=100\nNodes=0", NULL);
        ApplyOperation operation;

        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        assert_true(keeper_next(play->keeper, 0, &operation));
        const HostFiles before = break_host();

        keeper_done(play->keeper, &operation, 0, 1);
        mend_host(&before);
        assert_text(run(play), "0:100");
        assert_verdict(play, "a", "ready");
}

/* A file of the configuration that cannot be read is waited for, but not for long: then it is a mistake of its
 * own instance, until it can be read again. */
static void test_config_cannot_be_read(void **state) {
        Play *play = *state;

        write_config(play, "a", "Pages=100\nNodes=0");
        write_config(play, "b", "Pages=30\nNodes=1");
        int fd = lease_file(play, "/etc/hugeplan.d/b.conf");

        if (fd < 0)
                skip();
        boot(play);
        for (int i = 0; i < 2; i++)
                assert_text(round_of(play), "-");
        assert_text(round_of(play), "0:100");
        assert_true(keeper_wants_retry(play->keeper, UINT64_MAX));
        keeper_begin(play->keeper, KEEPER_RETRY, 0);
        assert_text(run(play), "-");
        close(fd);
        keeper_begin(play->keeper, KEEPER_FRESH, 0); /* is for what is known */
        assert_text(run(play), "-");
        keeper_begin(play->keeper, KEEPER_RETRY, 0);
        assert_text(run(play), "1:30");
        assert_false(keeper_wants_retry(play->keeper, 0));
}

/* Nor is a plan made before it is known whether boots have failed. */
static void test_guard_cannot_be_read(void **state) {
        Play *play = *state;

        save_guard(play, 3);
        write_config(play, "a", "Pages=100\nNodes=0");
        int fd = lease_file(play, PATH_BOOT_GUARD);

        if (fd < 0)
                skip();
        boot(play);
        assert_text(round_of(play), "-");
        assert_true(keeper_wants_retry(play->keeper, UINT64_MAX));
        close(fd);
        assert_text(round_of(play), "-");
        assert_int_equal(status_of(play, "a")->reason.kind, REASON_BOOT_GUARD);
        assert_false(keeper_wants_retry(play->keeper, UINT64_MAX));
}

/* Nor before everything was read that only a plan needs: here, the group that may have System V segments. */
static void test_plan_cannot_be_read(void **state) {
        Play *play = *state;

        tree_write(play->tree, "/etc/group", "hugetlb:x:990:\n");
        write_config(play, "a", "Pages=100\nNodes=0\nEngine=oracle\nSharedMemory=sysv");
        int fd = lease_file(play, "/etc/group");

        if (fd < 0)
                skip();
        boot(play);
        assert_text(round_of(play), "-");
        assert_true(keeper_wants_retry(play->keeper, UINT64_MAX));
        close(fd);
        assert_text(round_of(play), "0:100");
}

/* At the start nothing is known yet: nothing is written or answered before everything was read. */
static void test_start_cannot_read(void **state) {
        Play *play = *state;
        Gate gate = {.instance = "a", .run = ""};
        bool wants_repair = false;

        write_config(play, "a", "Pages=100\nNodes=0\nUnit=a.service");
        const HostFiles before = break_host();

        boot(play);
        assert_text(try_gate(play, &gate, true), "wait");
        assert_true(keeper_wants_retry(play->keeper, 0));
        assert_false(keeper_verify(play->keeper, false, true, 0, &wants_repair));
        assert_true(wants_repair);
        assert_text(round_of(play), "-");
        mend_host(&before);
        assert_text(state_text(play), "-");
        assert_text(round_of(play), "0:100");
        assert_text(try_gate(play, &gate, true), "pass");
}

/* The next attempt may be any call. */
static void test_start_by_verify(void **state) {
        Play *play = *state;
        bool wants_repair;

        write_config(play, "a", "Pages=100\nNodes=0");
        write_config(play, "b", "Pages=x");
        const HostFiles before = break_host();

        boot(play);
        mend_host(&before);
        assert_null(strstr(text_string(&play->told), "b.conf"));
        assert_true(keeper_verify(play->keeper, false, true, 0, &wants_repair));
        assert_text(run(play), "0:100");
        assert_int_equal(count(&play->told, "b.conf"), 1);
}

/* Nobody gets the pages of an instance of which nothing is known, for its file cannot be read; of one that is
 * described no longer they are free. */
static void test_undescribed(void **state) {
        Play *play = begin(state, "Pages=100\nNodes=0", NULL);

        round_of(play);
        remove_config(play, "a");
        tree_link(play->tree, "a.conf", "/etc/hugeplan.d/a.conf");
        write_config(play, "b", "Pages=950\nNodes=0");
        boot(play);
        assert_text(round_of(play), "-");
        assert_verdict(play, "b", "refused");
        assert_int_equal(keeper_units(play->keeper, play->tree->arena).n, 0);
        remove_config(play, "a");
        boot(play);
        round_of(play);
        assert_int_equal(play->pools[0].total, 950);
        assert_verdict(play, "b", "ready");
}

/* Another one's file makes no difference to an instance that is described. */
static void test_described_beside_unreadable(void **state) {
        Play *play = begin(state, "Pages=600\nNodes=0", NULL);

        round_of(play);
        write_config(play, "a", "Pages=700\nNodes=0");
        tree_link(play->tree, "b.conf", "/etc/hugeplan.d/b.conf");
        boot(play);
        assert_text(round_of(play), "0:700");
        assert_verdict(play, "a", "ready");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                PLAY_TEST(test_host_cannot_be_read),   PLAY_TEST(test_reload_cannot_be_read),
                PLAY_TEST(test_result_cannot_be_read), PLAY_TEST(test_config_cannot_be_read),
                PLAY_TEST(test_guard_cannot_be_read),  PLAY_TEST(test_plan_cannot_be_read),
                PLAY_TEST(test_start_cannot_read),     PLAY_TEST(test_start_by_verify),
                PLAY_TEST(test_undescribed),           PLAY_TEST(test_described_beside_unreadable),
        };

        return RUN_TESTS(tests);
}
